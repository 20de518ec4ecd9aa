package main

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// texts are methods that print for people.
var texts = []string{"Error", "Format", "GoString", "String"}

// loggers are packages whose calls write log lines, or their fields.
var loggers = []string{"go.uber.org/zap", "go.uber.org/zap/zapcore", "log", "log/slog"}

// messages are functions whose arguments make the text of an error.
var messages = []string{"errors.New", "fmt.Errorf"}

// skips reports whether a part of the source cannot change what the program does:
// texts, log lines, panics of broken laws, and hints of capacity. Nothing below it is
// looked at.
func (w *walker) skips(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Body == nil || n.Recv != nil && slices.Contains(texts, n.Name.Name)
	case *ast.IfStmt:
		return n.Else == nil && len(n.Body.List) == 1 && w.panics(n.Body.List[0]) || w.logs(n.Init)
	case *ast.ImportSpec, *ast.CommentGroup:
		return true
	case *ast.CallExpr:
		return w.builtin(n.Fun) == "panic" || w.called(n, func(pkg, name string) bool {
			return slices.Contains(loggers, pkg) || slices.Contains(messages, pkg+"."+name)
		})
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		return ok && w.skips(call)
	case *ast.AssignStmt:
		return len(n.Rhs) == 1 && w.grows(n.Rhs[0])
	}
	return false
}

func (w *walker) panics(statement ast.Stmt) bool {
	expression, ok := statement.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := expression.X.(*ast.CallExpr)
	return ok && w.builtin(call.Fun) == "panic"
}

// logs reports whether a statement only asks whether a line is to be logged.
func (w *walker) logs(statement ast.Stmt) bool {
	assignment, ok := statement.(*ast.AssignStmt)
	if !ok || len(assignment.Rhs) != 1 {
		return false
	}
	call, ok := assignment.Rhs[0].(*ast.CallExpr)
	return ok && w.called(call, func(pkg, _ string) bool { return slices.Contains(loggers, pkg) })
}

// grows reports whether a value is a slice with more room.
func (w *walker) grows(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	return ok && w.called(call, func(pkg, name string) bool { return pkg == "slices" && name == "Grow" })
}

// called asks about the package and the name of what is called, if it is a function
// or a method that is declared.
func (w *walker) called(call *ast.CallExpr, is func(pkg, name string) bool) bool {
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return false
	}
	function, ok := w.info.Uses[id].(*types.Func)
	return ok && function.Pkg() != nil && is(function.Pkg().Path(), function.Name())
}

// builtin is the name of a function of the language, or nothing.
func (w *walker) builtin(function ast.Expr) string {
	if id, ok := ast.Unparen(function).(*ast.Ident); ok {
		if _, ok := w.info.Uses[id].(*types.Builtin); ok {
			return id.Name
		}
	}
	return ""
}

// hints are the arguments of make and slices.Grow that only say how much room there is.
func (w *walker) hints(call *ast.CallExpr) []ast.Expr {
	if w.grows(call) {
		return call.Args[1:]
	}
	if w.builtin(call.Fun) != "make" {
		return nil
	}
	if _, ok := w.info.TypeOf(call.Args[0]).Underlying().(*types.Map); ok {
		return call.Args[1:]
	}
	return call.Args[min(2, len(call.Args)):]
}

// nameOf is the name of a function, with its receiver.
func nameOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return function.Name.Name
	}
	receiver := types.ExprString(function.Recv.List[0].Type)
	receiver, _, _ = strings.Cut(strings.TrimPrefix(receiver, "*"), "[")
	return receiver + "." + function.Name.Name
}

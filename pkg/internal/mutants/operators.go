package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
)

// The tables of the operators that replace one token by another.
var (
	boundaries = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
	equalities = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL}
	logics     = map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}
	arithmetic = map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.QUO,
		token.AND: token.OR, token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND,
		token.SHL: token.SHR, token.SHR: token.SHL,
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN,
		token.QUO_ASSIGN: token.MUL_ASSIGN, token.REM_ASSIGN: token.QUO_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN,
		token.OR_ASSIGN: token.AND_ASSIGN, token.XOR_ASSIGN: token.AND_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN,
		token.SHR_ASSIGN: token.SHL_ASSIGN, token.INC: token.DEC, token.DEC: token.INC,
	}
	words = map[string]string{"min": "max", "max": "min", "true": "false", "false": "true"}
)

// A walker enumerates the faults of one file.
type walker struct {
	info     *types.Info
	set      *token.FileSet
	path     string
	content  []byte
	function *ast.FuncDecl // around what is looked at
	left     []ast.Expr    // hints of make that were met, and are not looked at
	faults   []fault
}

// walk enumerates the faults of a file, in the order of the source.
func (w *walker) walk(file *ast.File) []fault {
	for _, declaration := range file.Decls {
		w.function, _ = declaration.(*ast.FuncDecl)
		ast.Inspect(declaration, w.visit)
	}
	slices.SortStableFunc(w.faults, func(a, b fault) int { return a.start - b.start })
	number(w.faults)
	return w.faults
}

func (w *walker) visit(n ast.Node) bool {
	if n == nil || w.skips(n) {
		return false
	}
	if e, ok := n.(ast.Expr); ok && slices.Contains(w.left, e) {
		return false
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			w.replace("negate", n.OpPos, n.OpPos+1, "")
		}
	case *ast.IfStmt:
		w.condition(n.Cond)
	case *ast.ForStmt:
		w.condition(n.Cond)
	case *ast.AssignStmt:
		w.swap("arithmetic", n.TokPos, n.Tok, arithmetic)
	case *ast.IncDecStmt:
		w.swap("arithmetic", n.TokPos, n.Tok, arithmetic)
	case *ast.BasicLit:
		w.constant(n)
	case *ast.Ident:
		w.word(n)
	case *ast.CallExpr:
		w.left = append(w.left, w.hints(n)...)
		w.clone(n)
	case *ast.BlockStmt:
		w.statements(n.List)
	case *ast.CaseClause:
		w.statements(n.Body)
	case *ast.CommClause:
		w.statements(n.Body)
	}
	return true
}

func (w *walker) binary(n *ast.BinaryExpr) {
	w.swap("boundary", n.OpPos, n.Op, boundaries)
	w.swap("negate", n.OpPos, n.Op, equalities)
	w.swap("logic", n.OpPos, n.Op, logics)
	if t, ok := w.info.TypeOf(n.X).Underlying().(*types.Basic); ok && t.Info()&types.IsNumeric != 0 {
		w.swap("arithmetic", n.OpPos, n.Op, arithmetic)
	}
}

// condition negates what is no equality and no negation; those are negated where they
// stand.
func (w *walker) condition(n ast.Expr) {
	switch x := n.(type) {
	case nil:
		return
	case *ast.UnaryExpr:
		return
	case *ast.BinaryExpr:
		if _, ok := equalities[x.Op]; ok {
			return
		}
	}
	w.replace("negate", n.Pos(), n.End(), "!("+w.source(n.Pos(), n.End())+")")
}

// constant adds one to an integer. Numbers beyond 32 bits are left out: they are those
// of hashes, and any other does as well.
func (w *walker) constant(n *ast.BasicLit) {
	value, err := strconv.ParseInt(n.Value, 0, 32)
	if n.Kind == token.INT && err == nil {
		w.replace("constant", n.Pos(), n.End(), strconv.FormatInt(value+1, 10))
	}
}

// word replaces true, false, min and max, if they are those of the language.
func (w *walker) word(n *ast.Ident) {
	instead, ok := words[n.Name]
	if !ok || w.info.Uses[n] != types.Universe.Lookup(n.Name) {
		return
	}
	operator := "boolean"
	if n.Name == "min" || n.Name == "max" {
		operator = "minmax"
	}
	w.replace(operator, n.Pos(), n.End(), instead)
}

// clone takes away a copy, so that two have the same.
func (w *walker) clone(n *ast.CallExpr) {
	selector, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Clone" {
		return
	}
	copied := selector.X
	if len(n.Args) == 1 {
		copied = n.Args[0]
	}
	w.replace("alias", n.Pos(), n.End(), w.source(copied.Pos(), copied.End()))
}

// statements deletes each statement of a list that is a call, an assignment or a
// jump. The last return of a function is not an early one.
func (w *walker) statements(list []ast.Stmt) {
	for i, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
			w.delete("delete", s)
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				w.delete("delete", s)
			}
		case *ast.BranchStmt:
			w.delete("flow", s)
		case *ast.ReturnStmt:
			last := w.function != nil && i == len(list)-1 && slices.Contains(w.function.Body.List, ast.Stmt(s))
			if !last {
				w.delete("flow", s)
			}
		}
	}
}

func (w *walker) delete(operator string, s ast.Stmt) {
	if !w.skips(s) {
		w.replace(operator, s.Pos(), s.End(), "")
	}
}

func (w *walker) swap(operator string, at token.Pos, old token.Token, table map[token.Token]token.Token) {
	if instead, ok := table[old]; ok {
		w.replace(operator, at, at+token.Pos(len(old.String())), instead.String())
	}
}

func (w *walker) replace(operator string, from, to token.Pos, text string) {
	f, ok := newFault(w.content, w.offset(from), w.offset(to), text)
	if !ok {
		return
	}
	f.file, f.operator = w.path, operator
	if w.function != nil {
		f.function = nameOf(w.function)
	}
	w.faults = append(w.faults, f)
}

func (w *walker) source(from, to token.Pos) string {
	return string(w.content[w.offset(from):w.offset(to)])
}

func (w *walker) offset(at token.Pos) int { return w.set.Position(at).Offset }

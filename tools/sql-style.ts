import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import type { Sources } from './imports.ts';

/* Checks that the SQL in TypeScript is written in lower case, as in the migrations. Quoted texts may have any case. */

export interface SqlKeyword {
  readonly file: string;
  readonly line: number;
  /** Position of the keyword in the file. */
  readonly offset: number;
  readonly keyword: string;
}

/** Files without one of these contain no SQL. Upper-case words of Dockerfiles and messages stay out. */
const usesDatabase = /\b(batchedS|s)tatement\b|from 'pg'|\.query\(/;
/** A text is SQL if it contains one of these. FROM alone is not enough: Dockerfiles begin with it. */
const isSql = new RegExp(
  String.raw`\b(SELECT\s|INSERT\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|JOIN\s|WHERE\s|ORDER\s+BY|GROUP\s+BY|CASE\s+WHEN|RETURNING\s` +
    String.raw`|ON\s+CONFLICT|IS\s+(NOT\s+)?NULL|AND\s+[\w.$(]+\s*[=<>]|FOR\s+(NO\s+KEY\s+UPDATE|UPDATE|KEY\s+SHARE|SHARE)\b|WITH\s+\w+\s+AS\s|VALUES\s*\(` +
    String.raw`|(CREATE|ALTER|DROP|LOCK|TRUNCATE|ENABLE|DISABLE)\s+(TABLE|DATABASE|FUNCTION|SEQUENCE|INDEX|TRIGGER|SYSTEM|SCHEMA|ROLE|OR|UNIQUE|UNLOGGED|TEMP)\s|TRUNCATE\s+[a-z]|SET\s+\w+\s+=|BEGIN;|(PREPARE|DEALLOCATE|LISTEN|UNLISTEN|NOTIFY|VACUUM|EXPLAIN)\s)`,
);
const quotedOrComment = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*/g;
const word = /\b[A-Z][A-Z_]+\b/g;

/** Returns the upper-case words of SQL in the given files, outside of quotes. Pure. */
export function findUpperCaseSql(sources: Sources): SqlKeyword[] {
  return [...sources].flatMap(([file, source]) => (usesDatabase.test(source) ? keywordsOf(file, source) : []));
}

function keywordsOf(file: string, source: string): SqlKeyword[] {
  const found: SqlKeyword[] = [];
  const read = (start: number, text: string): void => {
    const bare = text.replaceAll(quotedOrComment, (quoted) => ' '.repeat(quoted.length));
    if (!isSql.test(bare)) return;
    for (const { 0: keyword, index } of bare.matchAll(word)) {
      const offset = start + index;
      found.push({ file, line: source.slice(0, offset).split('\n').length, offset, keyword });
    }
  };
  new Visitor({
    Literal: ({ value, start, end }) => {
      if (typeof value === 'string') read(start + 1, source.slice(start + 1, end - 1));
    },
    TemplateLiteral: ({ start, end, expressions }) => {
      let text = source.slice(start, end);
      // An expression counts as a name: what it contains is read by itself.
      for (const inner of expressions) {
        const [from, to] = [inner.start - start, inner.end - start];
        text = text.slice(0, from) + 'x'.repeat(to - from) + text.slice(to);
      }
      read(start + 1, text.slice(1, -1));
    },
  }).visit(parseSync(file, source).program);
  return found;
}

/** Returns the upper-case SQL of this checkout. */
export function checkSql(): SqlKeyword[] {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = globSync('packages/*/src/**/*.ts', { cwd: root }).filter((file) => !file.includes('/generated/'));
  return findUpperCaseSql(new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')])));
}

import { expect, test } from 'vitest';
import { checkSql, findUpperCaseSql } from './sql-style.ts';

const found = (text: string): string[] =>
  findUpperCaseSql(new Map([['a.ts', `import { statement } from '@davit/db';\n${text}`]])).map(
    ({ line, keyword }) => `${line} ${keyword}`,
  );

test.each([
  ['a statement', "statement('a', 'SELECT id from project');", ['2 SELECT']],
  ['one of several lines', "statement('a', `select id\n from project\n WHERE id = $1`);", ['4 WHERE']],
  ['a part of a statement', "const tables = 'service s LEFT JOIN git_token g on true';", ['2 LEFT', '2 JOIN']],
  ['what follows an expression', 'statement(`a`, `select ${columns} from ${tables} ORDER BY id`);', ['2 ORDER', '2 BY']],
])('upper-case SQL is refused: %s', (_name, text, keywords) => {
  expect(found(text)).toEqual(keywords);
});

test('lower-case SQL, quoted words, names and other texts are fine', () => {
  const text = `statement('a', "select 'SELECT x' as \\"AS\\" from job where status = 'RUNNING' -- FROM here");
    const dockerfile = 'FROM node AS build'; const events = ['CREATE APPLICATION', 'CREATE DATABASE']; const tag = 'COMMIT';`;
  expect(found(text)).toEqual([]);
});

test('the SQL of this checkout is in lower case', () => {
  expect(checkSql()).toEqual([]);
});

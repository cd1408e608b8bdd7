import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import type { Sources } from './imports.ts';

/* Checks the English of comments: their width, and words that make a reader guess (CONTRIBUTING, "How we write"). */

export interface CommentProblem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

const columns = 120;
const directive = /oxlint-disable|@ts-|https?:\/\/\S{60}/;
/** Words that make a comment harder to read than it has to be, each with advice. */
const words: readonly (readonly [RegExp, string])[] = [
  [/^(Of|Whoever|That|The same|So long|So many|What) /, 'begin with the subject, or with a verb: Returns, Starts, Fails'],
  [/\b(tells|told|heard|hears|deaf|unheard)\b/i, 'say reports, logs, returns or receives'],
  [/\b(whoever|lets? go of|in vain)\b/i, 'name who acts, and say releases or without effect'],
];

interface Comment {
  readonly line: number;
  readonly text: string;
}

/** Returns the problems of the comments in the given files. Pure. */
export function findCommentProblems(sources: Sources): CommentProblem[] {
  return [...sources].flatMap(([file, text]) => [
    ...widthProblems(file, text),
    ...commentsOf(file, text).flatMap((comment) => wordProblems(file, comment)),
  ]);
}

function widthProblems(file: string, text: string): CommentProblem[] {
  const isComment = (line: string): boolean => /^\s*(\*|\/\/|\/\*)/.test(line) && !directive.test(line);
  return text
    .split('\n')
    .flatMap((line, index) =>
      line.length > columns && isComment(line)
        ? [{ file, line: index + 1, message: `is ${line.length} columns wide; comments end at ${columns}` }]
        : [],
    );
}

function wordProblems(file: string, { line, text }: Comment): CommentProblem[] {
  return words.flatMap(([pattern, advice]) => {
    const found = pattern.exec(text)?.[0].trim();
    return found === undefined ? [] : [{ file, line, message: `"${found}": ${advice}` }];
  });
}

/** Returns the comments of a file as running text. Adjacent lines that begin with `//` are one comment. */
function commentsOf(file: string, text: string): Comment[] {
  const found: { line: number; last: number; text: string }[] = [];
  for (const { type, value, start, end } of parseSync(file, text).comments) {
    if (directive.test(value)) continue;
    const line = text.slice(0, start).split('\n').length;
    const last = line + text.slice(start, end).split('\n').length - 1;
    const plain = value
      .split('\n')
      .map((one) => one.replace(/^\s*\*? ?/, ''))
      .join(' ')
      .replaceAll(/\s+/g, ' ')
      .trim();
    const before = found.at(-1);
    if (type === 'Line' && before !== undefined && before.last === line - 1) {
      before.last = last;
      before.text = `${before.text} ${plain}`;
    } else found.push({ line, last, text: plain });
  }
  return found;
}

/** Checks this checkout. */
export function checkComments(): CommentProblem[] {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = globSync(['packages/*/src/**/*.{ts,tsx}', 'e2e/**/*.ts', 'bench/**/*.ts', 'tools/**/*.ts'], { cwd: root });
  const own = files.filter((file) => !file.includes('/generated/'));
  return findCommentProblems(new Map(own.map((file) => [file, readFileSync(path.join(root, file), 'utf8')])));
}

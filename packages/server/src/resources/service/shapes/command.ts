export type ParsedCommand = { readonly words: readonly string[] } | { readonly fault: string };

const escapableInDoubleQuotes = new Set(['$', '`', '"', '\\', '\n']);

/**
 * Splits a command line into words as a POSIX shell does (Shell Command Language, 2.2). Expands nothing. The rules:
 * - Blanks separate words.
 * - Single quotes keep every character.
 * - Double quotes keep every character except backslashes.
 * - A backslash keeps the next character.
 */
export function parseCommand(text: string): ParsedCommand {
  const words: string[] = [];
  // null: between words. An empty pair of quotes is an empty word.
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (quote === "'") {
      if (character === "'") quote = null;
      else word = (word ?? '') + character;
    } else if (character === '\\') {
      const next = text.charAt(index + 1);
      if (next === '') return { fault: 'ends in a backslash with nothing after it' };
      const isKept = quote === '"' && !escapableInDoubleQuotes.has(next);
      // A backslash before a line end joins the lines.
      if (next !== '\n') word = (word ?? '') + (isKept ? character : '') + next;
      index += 1;
    } else if (quote === '"') {
      if (character === '"') quote = null;
      else word = (word ?? '') + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/[ \t\r\n]/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? '') + character;
    }
  }
  if (quote !== null) return { fault: `has an opening ${quote} without a closing one` };
  if (word !== null) words.push(word);
  return { words };
}

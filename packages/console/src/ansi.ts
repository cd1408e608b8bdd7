import { withoutTurns } from './text.ts';

/** A piece of a line with the colour and weight that the program asked for. */
export interface Piece {
  readonly text: string;
  readonly className: string;
}

// A sequence begins with ESC or its one-character form. Sequences that move the cursor, set titles or clear the screen
// have no meaning in a list of lines, and are left out.
// oxlint-disable-next-line no-control-regex -- the sequences are control characters
const sequence = /(?:\u001b\[|\u009b)([0-9;:]*)([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-Z\\^_]?/g;
// oxlint-disable-next-line no-control-regex -- what is left of control characters is shown as pictures of them
const control = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** Splits a line into its coloured pieces. The text of the pieces contains no control characters. */
export function piecesOf(line: string): Piece[] {
  const pieces: Piece[] = [];
  let className = '';
  let at = 0;
  const add = (text: string): void => {
    const shown = withoutTurns(text.replace(control, pictureOf));
    if (shown !== '') pieces.push({ text: shown, className });
  };
  for (const match of line.matchAll(sequence)) {
    add(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === 'm') className = styled(className, match[1] ?? '');
  }
  add(line.slice(at));
  return pieces;
}

/** Returns the text of a line without its colours, for the search. */
export function plainText(line: string): string {
  return piecesOf(line)
    .map(({ text }) => text)
    .join('');
}

function pictureOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\r') return '';
  return String.fromCodePoint(code === 0x7f ? 0x2421 : 0x2400 + code);
}

function styled(before: string, parameters: string): string {
  let [colour = '', weight = ''] = [/ansi-\d/.exec(before)?.[0], /ansi-b/.exec(before)?.[0]];
  const codes = parameters.split(/[;:]/).map(Number);
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 0) [colour, weight] = ['', ''];
    else if (code === 1) weight = 'ansi-b';
    else if (code === 22) weight = '';
    else if (code === 39) colour = '';
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) colour = `ansi-${code % 10}`;
    // A colour of 256 or of 16 million: the page keeps to its own colours, which can be read in both themes.
    else if (code === 38 || code === 48) index += codes[index + 1] === 5 ? 2 : 4;
  }
  return [colour, weight].filter((one) => one !== '').join(' ');
}

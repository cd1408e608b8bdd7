import { StringDecoder } from 'node:string_decoder';

/** Longer than what a deployment log holds of a line, so that nothing shown was cut before secrets were taken out of it. */
const longestLine = 65_536;
const mark = ' … (the line is longer)';

/**
 * Splits what a program prints into lines. None is kept whole whatever its length is, as `readline` does: a program that prints without
 * an end of line would fill the memory of the process.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #onLine: (line: string) => void;
  #line = '';
  #isCut = false;
  #isAfterReturn = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  write(chunk: Buffer): void {
    this.#take(this.#decoder.write(chunk));
  }

  /** What came after the last end of a line is one, too. */
  end(): void {
    this.#take(this.#decoder.end());
    if (this.#line !== '') this.#tell();
  }

  #take(text: string): void {
    if (text === '') return;
    // The two signs of one end of line may come apart.
    const [first = '', ...others] = (this.#isAfterReturn && text.startsWith('\n') ? text.slice(1) : text).split(/\r\n|\n|\r/);
    this.#isAfterReturn = text.endsWith('\r');
    this.#add(first);
    for (const one of others) {
      this.#tell();
      this.#add(one);
    }
  }

  #add(text: string): void {
    const room = longestLine - this.#line.length;
    if (text.length > room) this.#isCut = true;
    this.#line += text.slice(0, room);
  }

  #tell(): void {
    const line = this.#isCut ? this.#line + mark : this.#line;
    this.#line = '';
    this.#isCut = false;
    this.#onLine(line);
  }
}

/** The last of the lines that are added, up to a number and a length altogether. */
export class LastLines {
  readonly #most: number;
  readonly #mostLength: number;
  readonly lines: string[] = [];
  #length = 0;

  constructor(most: number, mostLength: number) {
    this.#most = most;
    this.#mostLength = mostLength;
  }

  add(line: string): void {
    this.lines.push(line);
    this.#length += line.length;
    while (this.lines.length > this.#most || (this.#length > this.#mostLength && this.lines.length > 1)) {
      this.#length -= this.lines.shift()?.length ?? 0;
    }
  }
}

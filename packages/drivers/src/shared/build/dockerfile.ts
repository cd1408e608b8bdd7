/**
 * Everything that Davit needs to know of a Dockerfile before an engine sees it: its stages, its arguments, and the
 * faults that engines report badly or differently. Rules: Dockerfile reference, version 1.7
 * of the frontend.
 */
export interface Dockerfile {
  readonly instructions: readonly Instruction[];
  readonly stages: readonly Stage[];
  /** Names that ARG lines declare, in any stage. */
  readonly argumentNames: ReadonlySet<string>;
  /** The image that `# syntax=` names, with which BuildKit reads the Dockerfile; null without such a line. */
  readonly syntax: Syntax | null;
  readonly fault: DockerfileFault | null;
}

export interface Syntax {
  readonly image: string;
  /** Whether it is Docker's own image, of which every BuildKit has a version built in. */
  readonly isOfficial: boolean;
}

export interface Instruction {
  /** Number of its first line, from 1. */
  readonly line: number;
  /** Upper case. */
  readonly keyword: string;
  /** Flags such as `--from=base`. */
  readonly flags: readonly string[];
  /** The text after the flags, with continued lines joined. */
  readonly rest: string;
  /** Its here-documents with their last lines, as written; null if it has none, or one of them has no last line. */
  readonly document: string | null;
  /** Number of its last line, from 1. */
  readonly lastLine: number;
}

type WrittenInstruction = Omit<Instruction, 'document' | 'lastLine'>;

export interface Stage {
  readonly index: number;
  /** Name as written after AS; null if the stage has none. */
  readonly name: string | null;
  readonly base: string;
  readonly line: number;
}

export interface DockerfileFault {
  readonly line: number;
  readonly message: string;
}

const keywords = new Set(
  'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR'.split(
    ' ',
  ),
);

export function parseDockerfile(content: string): Dockerfile {
  const text = content.replace(/^\uFEFF/, '');
  const directives = parseDirectives(text);
  const instructions = parseInstructions(text, directives.get('escape') === '`' ? '`' : '\\');
  const stages = stagesOf(instructions);
  const image = directives.get('syntax')?.split(/\s/)[0];
  const isOfficial = /^(docker\.io\/)?docker\/dockerfile(-upstream)?([:@]|$)/.test(image ?? '');
  return {
    instructions,
    stages,
    argumentNames: new Set(instructions.filter(({ keyword }) => keyword === 'ARG').flatMap(({ rest }) => argumentNames(rest))),
    syntax: image === undefined ? null : { image, isOfficial },
    // A custom syntax may have instructions that Davit does not know.
    fault: image !== undefined && !isOfficial ? null : faultOf(instructions),
  };
}

/** Returns the Dockerfile with its line `# syntax=` as a comment of equal length, so that BuildKit reads it itself. */
export function withoutSyntax(content: string): string {
  return content.replace(/^(\uFEFF?(?:#\s*[a-z]+\s*=[^\n]*\n)*?#\s*syntax\s*)=/i, '$1:');
}

/** Returns the stage that a target names, by name (ignoring case) or number; undefined if there is none. */
export function findStage(dockerfile: Dockerfile, target: string): Stage | undefined {
  const named = dockerfile.stages.findLast(({ name }) => name?.toLowerCase() === target.toLowerCase());
  return named ?? (/^\d+$/.test(target) ? dockerfile.stages[Number(target)] : undefined);
}

/** Returns the line number of an instruction as an engine repeats it; null if it is not found. */
export function lineOf(dockerfile: Dockerfile, instruction: string): number | null {
  const plain = (text: string): string =>
    text
      .replace(/[\s\\"]+/g, ' ')
      .trim()
      .toLowerCase();
  const wanted = plain(instruction);
  const found = dockerfile.instructions.find(({ keyword, flags, rest }) => plain([keyword, ...flags, rest].join(' ')) === wanted);
  return found?.line ?? null;
}

/** Returns the names declared by the text after ARG: `A`, `A=1`, `A=1 B="x y"`. */
export function argumentNames(rest: string): string[] {
  return words(rest).flatMap((word) => /^([A-Za-z_][\w.-]*)(=|$)/.exec(word)?.[1] ?? []);
}

function parseDirectives(text: string): Map<string, string> {
  const directives = new Map<string, string>();
  for (const line of text.split('\n')) {
    const match = /^#\s*([a-z]+)\s*=\s*(\S.*?)\s*$/i.exec(line);
    // Directives end at the first line that is not a directive, including a comment or an empty line.
    if (!match || directives.has(match[1]!.toLowerCase())) break;
    directives.set(match[1]!.toLowerCase(), match[2]!);
  }
  return directives;
}

function parseInstructions(text: string, escape: string): Instruction[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  const instructions: Instruction[] = [];
  const continues = new RegExp(`${escape === '\\' ? '\\\\' : '`'}[ \\t]*$`);
  let index = 0;
  let hasEndlessDocument = false;
  while (index < lines.length) {
    const first = index;
    let joined = '';
    let open = true;
    while (open && index < lines.length) {
      const line = lines[index++]!;
      if (/^\s*(#|$)/.test(line)) {
        // Comments and empty lines inside a continued instruction do not end it.
        open = joined !== '';
        continue;
      }
      open = continues.test(line);
      joined += open ? line.replace(continues, '') : line;
    }
    if (joined.trim() === '') continue;
    const instruction = toInstruction(joined.trim(), firstLineOf(lines, first) + 1);
    const endings = heredocs(instruction);
    // Builders refuse a file with such a document. The search for further ends would take a time that is quadratic.
    const end: number | null = endings.length === 0 || hasEndlessDocument ? null : endOf(endings, lines, index);
    hasEndlessDocument ||= endings.length > 0 && end === null;
    const document = end === null ? null : lines.slice(index, end).join('\n');
    index = end ?? index;
    instructions.push({ ...instruction, document, lastLine: index });
  }
  return instructions;
}

/** Returns the index after the last line of here-documents that begin at an index; null if one of them has no end. */
function endOf(documents: readonly HereDocument[], lines: readonly string[], from: number): number | null {
  let index = from;
  for (const { word, stripsTabs } of documents) {
    while (index < lines.length && (stripsTabs ? lines[index]!.replace(/^\t+/, '') : lines[index]) !== word) index += 1;
    if (index === lines.length) return null;
    index += 1;
  }
  return index;
}

function firstLineOf(lines: readonly string[], from: number): number {
  let index = from;
  while (index < lines.length && /^\s*(#|$)/.test(lines[index]!)) index += 1;
  return index === lines.length ? from : index;
}

function toInstruction(text: string, line: number): WrittenInstruction {
  const [, keyword = '', tail = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
  const flags: string[] = [];
  let rest = tail;
  for (
    let match = /^(--[a-zA-Z][\w-]*(?:=\S*)?)(?:\s+|$)/.exec(rest);
    match;
    match = /^(--[a-zA-Z][\w-]*(?:=\S*)?)(?:\s+|$)/.exec(rest)
  ) {
    flags.push(match[1]!);
    rest = rest.slice(match[0].length);
  }
  return { line, keyword: keyword.toUpperCase(), flags, rest: rest.trim() };
}

interface HereDocument {
  readonly word: string;
  readonly stripsTabs: boolean;
}

/**
 * Returns the here-documents of an instruction. BuildKit and Buildah take only whole words outside of quotes for them,
 * so that `$((1<<N))` is none.
 */
function heredocs({ keyword, rest }: Pick<Instruction, 'keyword' | 'rest'>): HereDocument[] {
  const text = keyword === 'ONBUILD' ? rest : `${keyword} ${rest}`;
  if (!/^(RUN|COPY|ADD)\s/i.test(text)) return [];
  return words(text).flatMap((written) => {
    const [, dash, , quoted, plain] = /^\d*<<(-?)(?:(["'])([^\s"'<]+)\2|\\?([^\s"'\\<>|&;()]+))$/.exec(written) ?? [];
    const word = quoted ?? plain;
    return word === undefined ? [] : [{ word, stripsTabs: dash === '-' }];
  });
}

function stagesOf(instructions: readonly Instruction[]): Stage[] {
  return instructions
    .filter(({ keyword }) => keyword === 'FROM')
    .map(({ rest, line }, index) => {
      const [base = '', as, name] = rest.split(/\s+/);
      return { index, base, name: as?.toUpperCase() === 'AS' && name ? name : null, line };
    });
}

function faultOf(instructions: readonly Instruction[]): DockerfileFault | null {
  const first = instructions.find(({ keyword }) => keyword !== 'ARG');
  if (!first) return { line: 1, message: 'it has no FROM instruction' };
  for (const instruction of instructions) {
    const message = faultIn(instruction);
    if (message === null) continue;
    // The lines of a here-document without an end are read as instructions.
    const open = instructions.find((one) => one.line < instruction.line && one.document === null && heredocs(one).length > 0);
    if (open === undefined) return { line: instruction.line, message };
    const ends = heredocs(open).map(({ word }) => word);
    return { line: open.line, message: `its here-document has no last line ${ends.join(' and ')}` };
  }
  if (first.keyword !== 'FROM') return { line: first.line, message: `${first.keyword} comes before the first FROM` };
  return null;
}

function faultIn({ keyword, rest, document }: Instruction): string | null {
  if (!keywords.has(keyword)) return `unknown instruction ${keyword}`;
  if (rest === '') return `${keyword} needs at least one argument`;
  if (keyword === 'FROM' && !/^\S+(\s+as\s+[A-Za-z][\w.-]*)?$/i.test(rest))
    return 'FROM takes an image, or an image, AS and a name';
  if ((keyword === 'COPY' || keyword === 'ADD') && document === null && !rest.startsWith('[') && words(rest).length < 2) {
    return `${keyword} needs a source and a destination`;
  }
  if (keyword === 'ENV' || keyword === 'LABEL') {
    // `ENV name the rest is the value` is the old form, with one variable per line.
    const [first = '', ...others] = words(rest);
    if (!first.includes('=') && others.length === 0) return `${keyword} ${first} has no value`;
    const bare = first.includes('=') ? others.find((word) => !word.includes('=')) : undefined;
    if (bare !== undefined) return `${keyword} takes name=value, not ${bare}`;
  }
  // Podman 4.3 builds such an image, but then cannot even inspect it.
  const port = keyword === 'EXPOSE' ? words(rest).find((word) => !/^\d+(-\d+)?(\/(tcp|udp|sctp))?$|\$/i.test(word)) : undefined;
  return port === undefined ? null : `EXPOSE takes ports, not ${port}`;
}

/** Splits at blanks outside of quotes; keeps quotes and escapes. */
function words(text: string): string[] {
  return text.match(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/g) ?? [];
}

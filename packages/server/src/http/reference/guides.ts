import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { html, Html } from './html.ts';
import { inline, markdown, type AddressOf } from './markdown.ts';

/** The pages of docs/ and docs/how-to/ by their files, such as `how-to/measure.md`; each with its text. */
export type Guides = ReadonlyMap<string, string>;

const contents = 'README.md';
const errors = 'errors.md';

/** Reads the pages below a folder. */
export async function readGuides(folder: URL): Promise<Guides> {
  const files = (await Promise.all(['', 'how-to/'].map((part) => filesIn(folder, part)))).flat();
  return new Map(await Promise.all(files.map(async (file) => [file, await readFile(new URL(file, folder), 'utf8')] as const)));
}

async function filesIn(folder: URL, part: string): Promise<readonly string[]> {
  const names = await readdir(new URL(part, folder));
  return names.filter((name) => name.endsWith('.md')).map((name) => `${part}${name}`);
}

function guideAddress(file: string): string {
  if (file === errors) return '/docs/errors';
  return file === contents ? '/docs/guides' : `/docs/guides/${path.basename(file, '.md')}`;
}

/** Returns the file of the page at an address below `/docs`; undefined if there is none. */
export function fileAt(address: string, guides: Guides): string | undefined {
  return [...guides.keys()].find((file) => file !== errors && guideAddress(file) === `/docs${address}`);
}

/**
 * Returns where links in a file of a folder lead: other pages and their headings, and other hosts. Other files are not
 * served.
 */
export function addressesOfFiles(guides: Guides, folder = '.'): AddressOf {
  return (target) => {
    if (target.startsWith('https://')) return target;
    const [, to = '', anchor = ''] = /^([\w./-]*\.md)?(#[\w-]+)?$/.exec(target) ?? [];
    if (to === '') return anchor === '' ? undefined : anchor;
    const file = path.posix.join(folder, to);
    return guides.has(file) ? `${guideAddress(file)}${anchor}` : undefined;
  };
}

/** Returns the heading of a page. */
export function titleOf(guide: string): string {
  return /^# (.+)$/m.exec(guide)?.[1] ?? 'Guide';
}

/** Returns the content of the page that a file becomes. `inText`: where words in code lead. */
export function guidePage(file: string, guides: Guides, inText: AddressOf): Html {
  const ofFiles = addressesOfFiles(guides, path.posix.dirname(file));
  const addressOf: AddressOf = (word) => inText(word) ?? ofFiles(word);
  // The parts between fences are texts; after each comes the code of a fence, with its indentation before it.
  const parts = (guides.get(file) ?? '').split(/^( *)```[^\n]*\n([\s\S]*?)\n\1```$/m);
  const content = parts.map((part, index) => (index % 3 === 0 ? textOf(part, addressOf) : codeOf(parts, index)));
  return html`<div class="prose wide guide">${content}</div>`;
}

/** Returns the code at an index; undefined for the indentation before it. */
function codeOf(parts: readonly string[], at: number): Html | undefined {
  if (at % 3 === 1) return undefined;
  const [indentation = '', code = ''] = parts.slice(at - 1);
  const lines = code.split('\n').map((line) => line.replace(indentation, ''));
  return html`<div class="code"><pre tabindex="0">${lines.join('\n')}</pre></div> `;
}

function textOf(text: string, addressOf: AddressOf): readonly Html[] {
  const blocks = text.replaceAll(/<!--[\s\S]*?-->/g, '').split(/\n{2,}/);
  return blocks.filter((block) => block.trim() !== '').map((block) => html`${blockOf(block.trim(), addressOf)} `);
}

function blockOf(block: string, addressOf: AddressOf): Html {
  const [, marks, text = ''] = /^(#{1,4}) (.+)$/.exec(block) ?? [];
  if (marks !== undefined) {
    const level = new Html(`h${marks.length}`);
    return html`<${level} id="${anchorOf(text)}">${inline(text, addressOf)}</${level}>`;
  }
  const [, anchor] = /^<a id="([\w-]+)"><\/a>$/.exec(block) ?? [];
  if (anchor !== undefined) return html`<span id="${anchor}"></span>`;
  return html`<div class="words">${markdown(block, addressOf)}</div>`;
}

/** Returns the anchor that a heading has at git hosts, too. */
function anchorOf(heading: string): string {
  const words = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '');
  return words.replaceAll(/\s/g, '-');
}

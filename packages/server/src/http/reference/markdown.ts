import { escaped, Html } from './html.ts';

/** Returns the address of what a word in backticks, or the target of a link, means; undefined if there is none. */
export type AddressOf = (word: string) => string | undefined;

/**
 * Returns descriptions as HTML. The words of the contract and the pages of docs/ use paragraphs, lists, tables, code,
 * bold words and links, and nothing else here. Code that names an operation, a type or an error code leads to it.
 */
export function markdown(text: string, addressOf: AddressOf): Html {
  const blocks = text
    .trim()
    .split(/\n{2,}/)
    .flatMap(withoutLeadOfList);
  return new Html(blocks.map((block) => blockOf(block, addressOf)).join('\n'));
}

/** Returns a single line as HTML, without a paragraph around it. */
export function inline(text: string, addressOf: AddressOf): Html {
  return new Html(line(text, addressOf));
}

/** Separates a list from the line above it, as both are one block. */
function withoutLeadOfList(block: string): readonly string[] {
  const start = block.search(/^(- |1\. )/m);
  return start > 0 ? [block.slice(0, start).trim(), block.slice(start)] : [block];
}

function blockOf(block: string, addressOf: AddressOf): string {
  if (block.startsWith('- ')) {
    const items = block.slice(2).split(/\n- /);
    return `<ul>${items.map((item) => `<li>${line(item, addressOf)}</li>`).join('')}</ul>`;
  }
  const [, number] = /^(\d+)\. /.exec(block) ?? [];
  if (number !== undefined) {
    const items = block.replace(/^\d+\. /, '').split(/\n\d+\. /);
    return `<ol start="${number}">${items.map((item) => `<li>${line(item, addressOf)}</li>`).join('')}</ol>`;
  }
  return block.startsWith('|') ? table(block, addressOf) : `<p>${line(block, addressOf)}</p>`;
}

function table(block: string, addressOf: AddressOf): string {
  const [head = [], ...rows] = tableRows(block);
  const cells = (row: readonly string[], cell: string): string =>
    row.map((text) => `<${cell}>${line(text, addressOf)}</${cell}>`).join('');
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('');
  return `<div class="scroll"><table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body}</tbody></table></div>`;
}

/** Returns the cells of a table, the head first. */
export function tableRows(block: string): readonly (readonly string[])[] {
  return block
    .split('\n')
    .filter((row) => !/^\|[-| ]+\|$/.test(row))
    .map((row) =>
      row
        .trim()
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim().replaceAll('\\|', '|')),
    );
}

function line(text: string, addressOf: AddressOf): string {
  return parts(text, addressOf).replaceAll(/\*\*(.+?)\*\*/gs, '<strong>$1</strong>');
}

/** Links whose target has no page keep their text only. Pictures are not served. */
function parts(text: string, addressOf: AddressOf): string {
  return text
    .split(/(!?\[[^\]]*\]\([^)]+\)|`[^`]+`)/)
    .map((part) => {
      const [, label, target = ''] = /^\[([^\]]*)\]\(([^)]+)\)$/.exec(part) ?? [];
      if (label !== undefined)
        return linked(
          parts(label, () => undefined),
          addressOf(target),
        );
      if (part.startsWith('`')) return code(part.slice(1, -1), addressOf);
      return part.startsWith('![') ? '' : escaped(part);
    })
    .join('');
}

/** Asterisks in code mean themselves. */
function code(word: string, addressOf: AddressOf): string {
  return linked(`<code>${escaped(word).replaceAll('*', '&#42;')}</code>`, addressOf(word));
}

function linked(content: string, address: string | undefined): string {
  return address === undefined ? content : `<a href="${escaped(address)}">${content}</a>`;
}

import { Html, html } from './html.ts';
import { codeAnchor } from './links.ts';
import { inline, markdown, tableRows, type AddressOf } from './markdown.ts';
import type { Model } from './model.ts';

/**
 * Returns docs/errors.md as the page that failed deployments link to. The heading of each cause and the row of each
 * code have the code as their anchor.
 */
export function errorsPage(document: string, { causes }: Pick<Model, 'causes'>, addressOf: AddressOf): Html {
  const blocks = document.trim().split(/\n{2,}/);
  return html`<div class="prose wide errors-page">${blocks.map((block) => html`${blockOf(block, causes, addressOf)} `)}</div>`;
}

function blockOf(block: string, causes: Model['causes'], addressOf: AddressOf): Html {
  const [, marks, text = ''] = /^(#{1,3}) (.+)$/.exec(block) ?? [];
  if (marks !== undefined) {
    const level = new Html(`h${marks.length}`);
    return html`<${level}${marks.length === 3 ? html` id="${text.toLowerCase()}"` : undefined}>${text}</${level}>`;
  }
  if (block.startsWith('| Code |')) return codes(block, causes, addressOf);
  return html`<div class="words">${markdown(block, addressOf)}</div>`;
}

/** A code leads nowhere on its own page. */
function codes(block: string, causes: Model['causes'], addressOf: AddressOf): Html {
  const rows = tableRows(block)
    .slice(1)
    .map(([code = '', status = '', meaning = '', remedy = '']) => {
      const name = code.replaceAll('`', '');
      return html`<li id="${codeAnchor(name, causes.has(name))}">
        <div class="field-head"><code>${name}</code> <span class="type">${status}</span></div>
        <div class="words">
          <p>${inline(meaning, addressOf)}</p>
          <p class="remedy">${inline(remedy, addressOf)}</p>
        </div>
      </li> `;
    });
  return html`<ul class="errors">
    ${rows}
  </ul>`;
}

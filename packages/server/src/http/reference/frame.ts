import { html, type Html } from './html.ts';
import type { Group, Section } from './order.ts';
import { operationAddress } from './order.ts';

export interface Page {
  readonly title: string;
  readonly content: Html;
  /** The address of the group to which the page belongs, and the operation that it shows. */
  readonly group?: string;
  readonly operation?: string;
}

/** Returns a page with the frame that all pages of the reference share. */
export function framed(page: Page, sections: readonly Section[], version: string): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover" />
        <meta name="color-scheme" content="light dark" />
        <title>${page.title} · Davit API</title>
        <link rel="stylesheet" href="/console/reference.css" />
        <script type="module" src="/console/reference.js" blocking="render"></script>
      </head>
      <body class="reference">
        <a class="skip" href="#content">Skip to the content</a>
        <header class="bar">
          <a class="home" href="/docs"><span class="tile" aria-hidden="true">D</span><span>Davit API</span></a>
          <button type="button" class="find" id="find" aria-haspopup="dialog" hidden><span>Search</span><kbd>Ctrl K</kbd></button>
          <nav class="links" aria-label="More">
            <a href="/docs/guides">Guides</a><a href="/docs/errors">Errors</a><a href="/openapi.json">OpenAPI</a
            ><a href="/console/">Console</a>
          </nav>
        </header>
        <div class="columns">
          <nav id="contents" class="contents" aria-label="Contents">
            <details class="menu">
              <summary>Contents</summary>
              ${sections.map((section) => sectionOf(section, page))}
              <p class="under">Davit ${version}</p>
            </details>
          </nav>
          <main id="content" tabindex="-1">${page.content}</main>
        </div>
      </body>
    </html> `.text;
}

function sectionOf({ title, groups }: Section, page: Page): Html {
  return html`<div class="nav">
    <div class="label">${title}</div>
    ${groups.map((group) => groupLink(group, page))}
  </div> `;
}

function groupLink(group: Group, page: Page): Html {
  const isOpen = page.group === group.address;
  const current = isOpen && page.operation === undefined ? html` aria-current="page"` : undefined;
  return html`<a href="${group.address}" ${current}>${group.tag}</a>${isOpen ? operationLinks(group, page) : undefined} `;
}

function operationLinks({ topics }: Group, page: Page): Html {
  return html`<ul class="deeper">
    ${topics.map(
      ({ title, operations }) =>
        html`${topics.length > 1 ? html`<li class="topic">${title}</li>` : undefined}${operations.map(
          ({ id, summary }) =>
            html`<li>
              <a href="${operationAddress(id)}" ${id === page.operation ? html` aria-current="page"` : undefined}>${summary}</a>
            </li>`,
        )}`,
    )}
  </ul>`;
}

import path from 'node:path';
import { operationList, tagSections } from '@davit/contract';
import { expect, test } from 'vitest';
import { readGuides } from './guides.ts';
import { Reference } from './reference.ts';

const guides = await readGuides(new URL('../../../../../docs/', import.meta.url));
const reference = new Reference('1.2.3', guides);

/** Returns the page without the frame around it. */
function contentOf(address: string): string {
  const page = reference.page(address) ?? '';
  return page.slice(page.indexOf('<main'));
}

test('every operation is in the contents once, and its page has all parts', () => {
  const tags = tagSections.flatMap(({ tags: members }) => members);
  const groups = tags.map((tag) => contentOf(`/groups/${tag.toLowerCase().replaceAll(' ', '-')}`)).join('');
  for (const { id, summary } of operationList) {
    expect(groups.split(`href="/docs/operations/${id}"`)).toHaveLength(2);
    const page = contentOf(`/operations/${id}`);
    expect(page).toContain(`<h1>${summary}</h1>`);
    for (const part of ['id="who"', 'id="answer"', 'id="errors"', 'class="try"'])
      expect({ id, has: page.includes(part) }).toEqual({ id, has: true });
  }
});

/** Addresses of other parts of the server. */
const others = new Set(['/console/reference.css', '/console/reference.js', '/openapi.json', '/console/']);

test('every link of every page leads to a page and a part of it, and every page is of this server', () => {
  const pages = new Map<string, ReadonlySet<string>>();
  const links = new Map([['/docs', 'the beginning']]);
  for (const [link, from] of links) {
    const [address = ''] = link.split('#');
    const isOut = link.startsWith('https://') && from.startsWith('/docs/guides');
    if (pages.has(address) || others.has(link) || isOut) continue;
    const page = reference.page(address.slice('/docs'.length) || '/') ?? '';
    expect({ link, from, has: page !== '' }).toEqual({ link, from, has: true });
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);
    const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
    expect({ address, twice }).toEqual({ address, twice: [] });
    pages.set(address, new Set(ids));
    for (const [, to = ''] of page.matchAll(/(?:href|src)="([^"]+)"/g))
      links.set(to.startsWith('#') ? `${address}${to}` : to, address);
  }
  const lost = [...links].filter(([link]) => {
    const [address = '', anchor] = link.split('#');
    return anchor !== undefined && !address.startsWith('https://') && pages.get(address)?.has(anchor) !== true;
  });
  expect(lost).toEqual([]);
  // The groups, operations, types, guides, the first page and the errors.
  expect(pages.size).toBeGreaterThan(operationList.length + tagSections.length);
}, 60_000);

test('the page of errors and the guides lead to the guides that they name, to the part in question', () => {
  expect(contentOf('/errors')).toContain('<a href="/docs/guides/people#a-lost-password">people.md</a>');
  expect(contentOf('/guides/people')).toContain('<h2 id="a-lost-password">');
  expect(contentOf('/guides')).toContain('<a href="/docs/guides/roll-back-an-application">');
  expect(contentOf('/guides/roll-back-an-application')).toContain('<a href="/docs/guides/');
  expect(contentOf('/guides/backups')).toMatch(/<strong>Monitor the age[^*]*<code>[^*]*<\/strong>/);
  const guide = contentOf('/guides/git-remote');
  expect(guide).toMatch(/<ol start="1">[\s\S]*<div class="code"><pre tabindex="0">/);
  for (const file of guides.keys()) {
    const page = contentOf(`/guides/${path.basename(file, '.md')}`);
    const withoutCode = page.replaceAll(/<pre[\s\S]*?<\/pre>|<code>[\s\S]*?<\/code>/g, '');
    expect({ file, left: /```|<p>#|\]\(|<t[hd]>\||\\\||\|<\/t[hd]>/.exec(withoutCode)?.[0] }).toEqual({ file, left: undefined });
  }
});

test('a word that has another meaning than a code or a type leads nowhere', () => {
  expect(contentOf('/types/DeploymentStatus')).toContain('<code>NEVER_DEPLOYED</code>: Nothing');
  expect(contentOf('/errors')).toContain('has no <code>Origin</code>');
  expect(contentOf('/operations/stopApplication')).toContain('<a href="/docs/errors#never_deployed">');
});

test('a page tells fields with types, limits and values, who may, and own errors with cause and remedy', () => {
  const page = contentOf('/operations/deployApplication');
  expect(page).toContain('<a href="/docs/types/DeployedApplication">DeployedApplication</a>');
  expect(page).toContain(
    '<a href="/docs/errors#release_not_usable"><code>RELEASE_NOT_USABLE</code></a> <span class="type">409</span>',
  );
  expect(page).toContain('Choose another release.');
  expect(page).toContain('<p class="words">Scope DEPLOY; Owner, Admin, DevOps; custom roles with DEPLOYER.</p>');
  expect(page).toContain('davit.call(&#39;deployApplication&#39;'.replaceAll('&#39;', "'"));
  expect(page).not.toContain('| Code |');
  const type = contentOf('/types/ApplicationRequest');
  expect(type).toMatch(/id="field-cpu"[\s\S]*?integer[\s\S]*?class="limits">[^<]*default 500/);
  expect(type).toContain('<a href="/docs/operations/createApplication">');
});

test('an address that leads nowhere has no page', () => {
  const unknown = ['/operations/toString', '/types/constructor', '/groups/none', '/operations', '/other'];
  // Each address that has a page is kept in memory.
  const longer = ['/operations/deployApplication/more', '/errors/more', '//more'];
  for (const address of [...unknown, ...longer]) expect({ address, page: reference.page(address) }).toEqual({ address });
});

test('every field that the search finds has an anchor of its own on its page', () => {
  const rows: readonly (readonly string[])[] = JSON.parse(reference.searchIndex());
  const pages = new Map<string, string>();
  for (const [kind, , , link = ''] of rows) {
    if (kind !== 'field') continue;
    const [address = '', anchor = ''] = link.slice('/docs'.length).split('#');
    const page = pages.get(address) ?? reference.page(address) ?? '';
    pages.set(address, page);
    expect({ link, found: page.split(` id="${anchor}"`).length - 1 }).toEqual({ link, found: 1 });
  }
}, 60_000);

test('the search has operations, types, fields and errors', () => {
  const rows: readonly (readonly string[])[] = JSON.parse(reference.searchIndex());
  const namesOf = (kind: string) => new Set(rows.filter(([one]) => one === kind).map(([, name]) => name));
  expect(namesOf('operation').size).toBeGreaterThan(400);
  expect(namesOf('type')).toContain('ServiceStatus');
  expect(namesOf('field')).toContain('min_running_instances');
  for (const code of ['RELEASE_NOT_USABLE', 'PORT_NOT_LISTENING']) expect(namesOf('error')).toContain(code);
});

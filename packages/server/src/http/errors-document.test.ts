import { readFile } from 'node:fs/promises';
import { errorCodes, statusNames } from '@davit/contract';
import { causes } from '@davit/drivers';
import { expect, test } from 'vitest';
import { Reference } from './reference/reference.ts';

const document = await readFile(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');

test('docs/errors.md has each code of the API with its status, and no other', () => {
  const rows = [...document.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (.+) \| (.+) \|$/gm)];
  expect(Object.fromEntries(rows.map(([, code, status]) => [code, Number(status)]))).toEqual(errorCodes);
});

test('docs/errors.md has each cause of a failed deployment with a text, and no other', () => {
  const sections = document.split(/^### /m).slice(1);
  expect(sections.map((section) => section.split('\n')[0])).toEqual(Object.keys(causes));
  for (const section of sections) expect(section.split('\n').slice(1).join(' ').trim().length).toBeGreaterThan(20);
});

test('each status has its name', () => {
  expect(Object.values(errorCodes).filter((status) => statusNames[status] === undefined)).toEqual([]);
});

test('the page that failures link to has a place for each cause', () => {
  const page = new Reference('1', new Map([['errors.md', document]])).page('/errors');
  for (const cause of Object.keys(causes)) expect(page).toContain(`<h3 id="${cause.toLowerCase()}">${cause}</h3>`);
  expect(page).toContain('<code>DAVIT_RATE_LIMIT</code>');
  expect(page).not.toContain('<API token>');
});

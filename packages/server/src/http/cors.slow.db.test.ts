import { findBrowser, openBrowser, type Page, type TestBrowser } from '@davit/testkit/browser';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { startTestSite } from '@davit/testkit/site';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const program = findBrowser();
type Site = Awaited<ReturnType<typeof startTestSite>>;

/** Checks in a real browser what a page of another origin can do with the API. */
describe.skipIf(program === null)('a page of another origin', () => {
  let allowed: Site;
  let other: Site;
  let server: TestServer;
  let browser: TestBrowser;
  beforeAll(async () => {
    const page = (_request: unknown, response: { end(text: string): void }): void =>
      response.end('<!doctype html><title>page</title>');
    allowed = await startTestSite(page);
    other = await startTestSite(page);
    server = await startTestServer({
      environment: { DAVIT_RATE_LIMIT: '6000', DAVIT_ALLOWED_ORIGINS: `https://console.example.org, ${originOf(allowed)}` },
    });
    browser = await openBrowser(program ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await allowed?.close();
    await other?.close();
  });

  async function open(site: Site): Promise<Page> {
    const page = await browser.context.newPage();
    await page.goto(originOf(site));
    return page;
  }

  /** Returns what a script of the page sees of a response; `blocked` if the browser hides it. */
  function ask(page: Page, path: string, method = 'GET', body: string | null = null) {
    const request = { url: `${server.baseUrl}${path}`, method, body, token: server.adminToken };
    return page.evaluate(async ({ url, method: verb, body: text, token }) => {
      const headers = { authorization: `Token ${token}`, ...(text !== null && { 'content-type': 'application/json' }) };
      try {
        const answer = await fetch(url, { method: verb, headers, ...(text !== null && { body: text }) });
        return { status: answer.status, limit: answer.headers.get('x-ratelimit-limit') };
      } catch {
        return 'blocked';
      }
    }, request);
  }

  test('that is allowed reads and writes, and sees the limits', async () => {
    const page = await open(allowed);
    expect(await ask(page, '/organization')).toEqual({ status: 200, limit: '6000' });
    expect(await ask(page, '/organization', 'POST', '{"name": "from a page"}')).toMatchObject({ status: 201 });
    const { id } = await server.organization('edited');
    expect(await ask(page, `/organization/${id}`, 'PUT', '{"name": "edited by a page", "plan": "FREE"}')).toMatchObject({
      status: 200,
    });
    expect(await ask(page, `/organization/${id}`, 'DELETE')).toMatchObject({ status: 204 });
  });

  test('that is allowed sees errors too, also those of paths that are none', async () => {
    const page = await open(allowed);
    expect(await ask(page, '/nowhere')).toMatchObject({ status: 404 });
    expect(await ask(page, '/organization', 'POST', '{')).toMatchObject({ status: 400 });
  });

  test('that is not allowed sees nothing, and changes nothing', async () => {
    const page = await open(other);
    expect(await ask(page, '/organization')).toBe('blocked');
    expect(await ask(page, '/organization', 'POST', '{"name": "from a stranger"}')).toBe('blocked');
    const { results } = await server.client(server.adminToken).call('listOrganization', {});
    expect(results.map(({ name }) => name)).not.toContain('from a stranger');
  });

  test('that is allowed follows the stream of an organization', async () => {
    const { id } = await server.organization('followed');
    const page = await open(allowed);
    const first = await page.evaluate(
      async ({ url, token }) => {
        const stop = new AbortController();
        const answer = await fetch(url, { headers: { authorization: `Token ${token}` }, signal: stop.signal });
        const chunk = await answer.body?.getReader().read();
        stop.abort();
        return new TextDecoder().decode(chunk?.value);
      },
      { url: `${server.baseUrl}/organization/${id}/stream`, token: server.adminToken },
    );
    expect(first).not.toBe('');
  });
});

function originOf({ url }: Site): string {
  return new URL(url).origin;
}

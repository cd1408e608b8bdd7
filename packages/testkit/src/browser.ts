import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium, type BrowserContext } from 'playwright-core';

export type { CDPSession, Page, Request } from 'playwright-core';

/**
 * Returns the path of the system's Chromium (Debian's package `chromium`), or of the browser named by
 * `DAVIT_TEST_BROWSER`. Returns null if there is none.
 */
export function findBrowser(): string | null {
  const candidates = [
    process.env['DAVIT_TEST_BROWSER'],
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ];
  return candidates.find((file) => file !== undefined && existsSync(file)) ?? null;
}

/** A real headless browser with a separate profile. */
export interface TestBrowser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

// These options prevent the browser from sending requests by itself.
const options = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function openBrowser(executablePath: string): Promise<TestBrowser> {
  const profile = mkdtempSync(path.join(tmpdir(), 'davit-browser-'));
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args: options });
  return {
    context,
    close: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

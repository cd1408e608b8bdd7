import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AppError } from '@davit/base';
import type { Database } from '@davit/db';
import type { Needs } from '../../deps.ts';
import type { Settings } from '../../configuration.ts';
import type { Vault } from '../../secrets/vault.ts';
import type { Authority } from './authority.ts';
import { readAuthority } from './store.ts';

/**
 * Returns the authority that issues this installation's certificates, or null if HTTPS is off. Fails with
 * CONFIGURATION_INVALID.
 */
export async function authorityOf({
  database,
  vault,
  config,
}: Needs<'database' | 'vault', 'acme' | 'gatewayHttpsPort'>): Promise<Authority | null> {
  if (config.gatewayHttpsPort === null) return null;
  if (config.acme === null) {
    return later({ directory: '', isPublic: false }, async () => {
      const { localAuthority } = await import('./local-authority.ts');
      return localAuthority(database, vault);
    });
  }
  const { rootsFile, ...settings } = config.acme;
  const roots = rootsFile === null ? null : await readRoots(rootsFile);
  return later({ directory: settings.directory, isPublic: true }, async () => {
    const { acmeAuthority } = await import('./acme-authority.ts');
    return acmeAuthority(database, vault, { ...settings, roots });
  });
}

/**
 * Loads the authority when the first certificate is issued, because its libraries take more memory than the rest of
 * Davit's code.
 */
function later(facts: Omit<Authority, 'issue'>, open: () => Promise<Authority>): Authority {
  let opened: Promise<Authority> | undefined;
  return { ...facts, issue: async (request) => (await (opened ??= open())).issue(request) };
}

async function readRoots(file: string): Promise<string> {
  try {
    const text = await readFile(file, 'utf8');
    // Fails if the text contains no certificate.
    expectCertificate(text);
    return text;
  } catch (error) {
    const message = `DAVIT_ACME_ROOTS must be a file with certificates in PEM; ${file} cannot be read as one.`;
    throw new AppError({ code: 'CONFIGURATION_INVALID', message, cause: error });
  }
}

function expectCertificate(text: string): X509Certificate {
  return new X509Certificate(text);
}

/** Runs at startup. Creates the installation's own authority if the configuration uses that authority. */
export async function ensureAuthority(
  config: Settings<'acme' | 'gatewayHttpsPort'>,
  database: Database,
  vault: Vault,
  installation: string,
): Promise<void> {
  if (config.gatewayHttpsPort === null || config.acme !== null) return;
  if ((await database.maybe(readAuthority, [''])) !== undefined) return;
  const { makeLocalAuthority } = await import('./local-authority.ts');
  await makeLocalAuthority(database, vault, installation);
}

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { AppError } from '@davit/base';
import type { Database } from '@davit/db';
import type { Deps } from '../../deps.ts';
import type { Configuration } from '../../main/config.ts';
import type { Vault } from '../../secrets/vault.ts';
import { acmeAuthority } from './acme-authority.ts';
import type { Authority } from './authority.ts';
import { ensureLocalAuthority, localAuthority } from './local-authority.ts';

type Needs = Pick<Deps, 'database' | 'vault' | 'config'>;

/** Who makes this installation's certificates; null: there is no HTTPS. CONFIGURATION_INVALID. */
export async function authorityOf({ database, vault, config }: Needs): Promise<Authority | null> {
  if (config.gatewayHttpsPort === null) return null;
  if (config.acme === null) return localAuthority(database, vault);
  const { rootsFile, ...settings } = config.acme;
  return acmeAuthority(database, vault, { ...settings, roots: rootsFile === null ? null : await readRoots(rootsFile) });
}

async function readRoots(file: string): Promise<string> {
  try {
    const text = await readFile(file, 'utf8');
    // Fails where there is none in it.
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

/** At the start: the installation's own authority, where it is that which makes certificates. */
export async function ensureAuthority(
  config: Configuration,
  database: Database,
  vault: Vault,
  installation: string,
): Promise<void> {
  if (config.gatewayHttpsPort !== null && config.acme === null) await ensureLocalAuthority(database, vault, installation);
}

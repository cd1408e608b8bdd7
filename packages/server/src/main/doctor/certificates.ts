import { statement, type Database } from '@davit/db';
import type { Configuration } from '../../configuration.ts';
import { ownNames } from '../../resources/certificate/index.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

interface Row {
  readonly host: string;
  readonly valid_until: string | null;
  readonly is_valid: boolean;
  readonly message: string | null;
  readonly due_at: string;
}

const certificatesRead = statement<Row>(
  'doctor_certificates',
  // An older schema has no purpose.
  `select host, not_after as valid_until, coalesce(not_after > clock_timestamp(), false) as is_valid, failure ->> 'message' as message,
          due_at
     from certificate c where to_jsonb(c) ->> 'purpose' = 'INSTALLATION'`,
);

/** Checks the certificates of the API and of the addresses of services. */
export async function lookAtCertificates(config: Configuration, database: Database): Promise<Finding[]> {
  const names = ownNames(config);
  if (names.length === 0) return [];
  const rows = await database.many(certificatesRead);
  return names.map((name) =>
    finding(
      name,
      rows.find(({ host }) => host === name),
    ),
  );
}

function finding(name: string, row: Row | undefined): Finding {
  if (row === undefined) return warn(`${name} has no certificate yet`, 'davit serve requests it within a minute.');
  const { valid_until, is_valid, message, due_at } = row;
  const advice = `The next attempt is at ${due_at}. docs/how-to/on-the-internet.md explains what the authority needs.`;
  if (is_valid && message === null) return ok(`the certificate of ${name} is valid until ${valid_until}`);
  const state =
    valid_until === null ? 'has no certificate' : `has a certificate ${is_valid ? 'until' : 'that expired at'} ${valid_until}`;
  if (message === null) return warn(`${name} ${state}: it is being issued`, advice);
  return (is_valid ? warn : fail)(`${name} ${state}: ${message}`, advice);
}

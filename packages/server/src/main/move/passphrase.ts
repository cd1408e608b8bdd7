import { AppError, type Sensitive } from '@davit/base';
import type { Configuration } from '../../configuration.ts';

const shortest = 12;

/**
 * Returns the passphrase. It is accepted from a variable only: every user of the machine can list the arguments of a
 * command. PASSPHRASE_MISSING.
 */
export function passphraseOf({ exportPassphrase }: Configuration): Sensitive {
  if (exportPassphrase !== null && exportPassphrase.reveal().length >= shortest) return exportPassphrase;
  throw new AppError({
    code: 'PASSPHRASE_MISSING',
    message: `an export contains everything of this instance, including its secrets, encrypted with a passphrase: set DAVIT_EXPORT_PASSPHRASE to at least ${shortest} characters. Without it nobody can read the file.`,
  });
}

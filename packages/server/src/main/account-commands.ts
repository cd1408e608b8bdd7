import { createAccountOf, listAccounts, removeSecondFactor, resetAccount } from '../resources/account/index.ts';
import { pageLink } from '../resources/shared/page-link.ts';
import type { Configuration } from '../configuration.ts';
import { withDatabase, type Print } from './commands.ts';

/* The commands `davit account`, for an operator who has locked himself out or prefers the command line. */

export function listAccountsCommand(config: Configuration, print: Print): Promise<number> {
  return withDatabase(config, async (database) => {
    const lines = (await listAccounts(database)).map(
      ({ email, name, created_at, organizations }) =>
        `${email}  ${name ?? '-'}  created ${created_at}  ${organizations.join(', ') || 'no organization'}\n`,
    );
    return print(lines.join('') || 'there are none\n');
  });
}

export function createAccountCommand(config: Configuration, email: string, print: Print): Promise<number> {
  return withDatabase(config, async (database) => print(linkTo(config, await createAccountOf(database, email))));
}

export function resetAccountCommand(config: Configuration, email: string, print: Print): Promise<number> {
  return withDatabase(config, async (database) => {
    const token = await resetAccount(database, email);
    if (token !== null) return print(linkTo(config, token));
    process.stderr.write(`davit: there is no account ${JSON.stringify(email)}; davit account list shows them\n`);
    return 1;
  });
}

export function removeSecondFactorCommand(config: Configuration, email: string, print: Print): Promise<number> {
  return withDatabase(config, async (database) => {
    if (await removeSecondFactor(database, email)) return print(`${email} signs in with the password alone`);
    process.stderr.write(`davit: there is no account ${JSON.stringify(email)} with a second factor\n`);
    return 1;
  });
}

function linkTo(config: Configuration, token: string): string {
  return `set the password with this link (valid for 24 hours): ${pageLink(config, 'password', token)}`;
}

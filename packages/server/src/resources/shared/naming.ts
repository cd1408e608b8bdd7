import { AppError } from '@davit/base';
import { isUniqueViolation } from '@davit/db';

/**
 * Runs a write and converts a violation of this unique index to NAME_TAKEN. `where` names the parent in which the name
 * is taken, as in `project`: "A project named X exists already in this organization".
 */
export async function refuseTakenName<Result>(
  taken: { readonly index: string; readonly noun: string; readonly name: string | undefined; readonly where: string },
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    if (!isUniqueViolation(error, taken.index)) throw error;
    const article = /^[aeiou]/i.test(taken.noun) ? 'An' : 'A';
    throw new AppError({
      code: 'NAME_TAKEN',
      message: `${article} ${taken.noun} named ${JSON.stringify(taken.name)} exists already ${taken.where}; upper and lower case do not tell names apart.`,
      cause: error,
    });
  }
}

/** Returns an IN_USE error that names the first few users. */
export function inUse(what: string, users: { readonly noun: string; readonly names: readonly string[] }): AppError {
  const shown = users.names.slice(0, 10).join(', ');
  const more = users.names.length > 10 ? ` and ${users.names.length - 10} more` : '';
  return new AppError({
    code: 'IN_USE',
    message: `${what} is still used by ${users.noun} ${shown}${more}. Delete ${users.names.length === 1 ? 'it' : 'them'} first.`,
  });
}

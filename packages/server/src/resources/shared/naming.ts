import { AppError } from '@davit/base';
import { isUniqueViolation } from '@davit/db';

/** A name that is taken. `where` names the parent: "A project named X exists already in this organization". */
interface TakenName {
  readonly noun: string;
  readonly name: string | undefined;
  readonly where: string;
}

/** Returns a NAME_TAKEN error. */
export function nameTaken({ noun, name, where }: TakenName, cause?: unknown): AppError {
  const article = /^[aeiou]/i.test(noun) ? 'An' : 'A';
  return new AppError({
    code: 'NAME_TAKEN',
    message: `${article} ${noun} named ${JSON.stringify(name)} exists already ${where}; names are compared without regard to case.`,
    cause,
  });
}

/** Runs a write and converts a violation of this unique index to NAME_TAKEN. */
export async function refuseTakenName<Result>(
  taken: TakenName & { readonly index: string },
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    throw isUniqueViolation(error, taken.index) ? nameTaken(taken, error) : error;
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

import { builtInRoles, customNeed, customNeedWords, roleDescriptions, roleMay, scopes, type Operation } from '@davit/contract';

/** Who may use an operation, in words; each line has a name. */
export type Who = readonly (readonly [name: string, words: string])[];

/** Returns who may use an operation. The server decides by the same functions. */
export function whoMay(operation: Operation): Who {
  const { audience, scope, target, id } = operation;
  if (audience === 'anybody') return [['Anybody', 'No token is needed; what the caller may do follows from the request.']];
  if (audience === 'people') return [['People', 'Whoever signed in, for the own account and invitations. API tokens may not.']];
  const enough = scopes.slice(scopes.indexOf(scope));
  const tokens: Who = [['API tokens', `with the scope ${listed(enough)}`]];
  if (id === 'createOrganization') return [...tokens, ['People', 'whoever signed in']];
  if (target === 'instance' && scope === 'READ') return [...tokens, ['People', 'whoever signed in']];
  const roles = builtInRoles.filter((role) => roleMay(role, operation)).map((role) => roleDescriptions[role].name);
  return [...tokens, ['Roles', listed(roles)], ['Custom roles', customNeedWords[customNeed(operation)]]];
}

function listed(words: readonly string[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(words);
}

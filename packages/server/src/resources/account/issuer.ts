import { systemClock } from '@davit/base';
import type { Body, operations } from '@davit/contract';
import { requireState, type IssuerSignIn } from '../../auth/issuer-clients.ts';
import { personOf } from '../../auth/people.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { beginSession, toSignedIn, type Begun } from './sign-in.ts';

type Begin = Body<(typeof operations)['createIssuerSignIn']>;
type Finish = Body<(typeof operations)['completeIssuerSignIn']>;

/** A sign-in that began: the page to which the browser is led, and what it keeps until it returns. */
interface Started {
  readonly url: string;
  readonly state: string;
}

/** Begins a sign-in through an issuer. NOT_FOUND, ISSUER_UNAVAILABLE. */
export async function beginIssuerSignIn(
  { issuerClients, signInStates }: Needs<'issuerClients' | 'signInStates'>,
  client: ClientFacts,
  { issuer }: Begin,
): Promise<Started> {
  const { url, signIn } = await issuerClients.begin(issuer, `${client.ownUrl}/console/issuer`);
  return { url, state: signInStates.seal('ISSUER', signIn) };
}

/**
 * Signs a person in whom an issuer names. The person is found as for a JWT: by issuer and subject, never by the e-mail
 * address, which another issuer could claim. SIGN_IN_EXPIRED, SIGN_IN_REFUSED, UNAUTHORIZED, ISSUER_UNAVAILABLE.
 */
export async function finishIssuerSignIn(
  deps: Needs<'database' | 'tokens' | 'sessions' | 'issuerClients' | 'signInStates'>,
  client: ClientFacts,
  { response }: Finish,
): Promise<Begun> {
  const state = deps.signInStates.open<IssuerSignIn>('ISSUER', client.signInState);
  requireState(state.content, response);
  await deps.signInStates.use(state);
  const issued = await deps.issuerClients.finish(state.content, response);
  const person = await personOf(deps.database, systemClock, issued);
  const session = await beginSession(deps, client, person.id);
  return { session, answer: toSignedIn(person.id, person.email, session) };
}

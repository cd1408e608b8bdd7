import { queryOptions } from '@tanstack/react-query';
import { api, clientOf } from '../api.ts';

/* The account of the person who is signed in. An API token has none. */

export const account = queryOptions({
  queryKey: ['account'],
  queryFn: ({ signal }) => api().call('getAccountInformation', { signal }),
});

export const security = queryOptions({
  queryKey: ['accountSecurity'],
  queryFn: ({ signal }) => api().call('getAccountSecurity', { signal }),
});

export const sessions = queryOptions({
  queryKey: ['accountSessions'],
  queryFn: async ({ signal }) => (await api().call('listSessions', { signal })).results,
});

export const passkeys = queryOptions({
  queryKey: ['passkeys'],
  queryFn: async ({ signal }) => (await api().call('listPasskeys', { signal })).results,
});

/** The ways to sign in at this address, which anybody may read. */
export const signInOptions = queryOptions({
  queryKey: ['signInOptions'],
  queryFn: ({ signal }) => clientOf(null).call('getSignInOptions', { signal }),
});

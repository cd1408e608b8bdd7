import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Uuid, Words } from '../shape.ts';
import { SignedIn } from './sign-in.ts';

const tag = 'Sign-in';
const Bytes = Type.String({ minLength: 1, maxLength: 20_000, pattern: '^[A-Za-z0-9_-]+$' });
const Kind = Words({ 'public-key': 'The only kind that there is.' });
const Needed = Words({ required: 'The browser must do this.' });
const byBrowser = 'as the method of the browser returns it, in base64url.';

const Passkey = Named(
  'Passkey',
  Type.Object({
    id: about('Identifies the passkey in paths.', Uuid),
    name: about('What you call the device or program that holds it.', Type.String()),
    is_synced: about('Whether its holder copies it to other devices of yours, as password managers do.', Type.Boolean()),
    created_at: about('When you added the passkey.', DateTime),
    last_used_at: about('When you last signed in with it. null: never.', Nullable(DateTime)),
  }),
  'A key that a device or a password manager holds, with which a person signs in without a password.',
);

const Credential = Named(
  'PasskeyDescriptor',
  Type.Object({
    id: about('The id of the credential, in base64url.', Type.String()),
    type: about('The kind of credential.', Kind),
  }),
  'Names a passkey to the browser.',
);

const CreationOptions = Named(
  'PasskeyCreationOptions',
  Type.Object({
    rp: about(
      'The installation for which the passkey is made.',
      Named(
        'PasskeyRelyingParty',
        Type.Object({
          id: about('The host name for which the passkey is valid.', Type.String()),
          name: about('The name to show.', Type.String()),
        }),
        'The installation for which the passkey is made.',
      ),
    ),
    user: about(
      'The person for whom the passkey is made.',
      Named(
        'PasskeyUser',
        Type.Object({
          id: about('The person, in base64url. The passkey stores it.', Type.String()),
          name: about('The e-mail address of the account.', Type.String()),
          displayName: about('The name to show.', Type.String()),
        }),
        'The person for whom the passkey is made.',
      ),
    ),
    challenge: about('The text that the passkey signs, in base64url; valid once.', Type.String()),
    pubKeyCredParams: about(
      'The signatures that are accepted, the preferred one first.',
      Type.Array(
        Type.Object({
          alg: about('The number of the algorithm at IANA (COSE).', Type.Integer()),
          type: about('The kind of credential.', Kind),
        }),
      ),
    ),
    timeout: about('Milliseconds within which the person confirms.', Type.Integer()),
    excludeCredentials: about('The passkeys that the account has already.', Type.Array(Credential)),
    authenticatorSelection: about(
      'What the passkey must be able to do.',
      Named(
        'PasskeySelection',
        Type.Object({
          residentKey: about('Whether the passkey is found without an e-mail address.', Needed),
          requireResidentKey: about('The same, for older browsers.', Type.Boolean()),
          userVerification: about('Whether the person proves their presence by PIN, finger or face.', Needed),
        }),
        'What the passkey must be able to do.',
      ),
    ),
  }),
  'What `navigator.credentials.create` gets: `PublicKeyCredential.parseCreationOptionsFromJSON` reads it.',
);

const RequestOptions = Named(
  'PasskeyRequestOptions',
  Type.Object({
    challenge: about('The text that the passkey signs, in base64url; valid once.', Type.String()),
    rpId: about('The host name for which passkeys are valid.', Type.String()),
    timeout: about('Milliseconds within which the person confirms.', Type.Integer()),
    userVerification: about('Whether the person proves their presence by PIN, finger or face.', Needed),
  }),
  'What `navigator.credentials.get` gets: `PublicKeyCredential.parseRequestOptionsFromJSON` reads it.',
);

const NewCredential = Named(
  'NewPasskeyCredential',
  Type.Object({
    id: about(`The id of the credential, ${byBrowser}`, Bytes),
    response: about(
      'The property `response` of what the browser returned.',
      Type.Object({
        clientDataJSON: about(`What the browser signed, ${byBrowser}`, Bytes),
        attestationObject: about(`The new key, ${byBrowser}`, Bytes),
      }),
    ),
  }),
  'What `navigator.credentials.create` returned, as JSON (`toJSON`). Other properties of it are ignored.',
);

const SignedCredential = Named(
  'PasskeyCredential',
  Type.Object({
    id: about(`The id of the credential, ${byBrowser}`, Bytes),
    response: about(
      'The property `response` of what the browser returned.',
      Named(
        'PasskeySignature',
        Type.Object({
          clientDataJSON: about(`What the browser signed, ${byBrowser}`, Bytes),
          authenticatorData: about(`What the holder of the passkey states, ${byBrowser}`, Bytes),
          signature: about(`The signature, ${byBrowser}`, Bytes),
          userHandle: Type.Optional(about('The person, as the passkey stored it.', Nullable(Type.String({ maxLength: 200 })))),
        }),
        'The answer of a passkey to the challenge.',
      ),
    ),
  }),
  'What `navigator.credentials.get` returned, as JSON (`toJSON`). Other properties of it are ignored.',
);

export const listPasskeys = operation({
  id: 'listPasskeys',
  method: 'GET',
  path: '/account/passkey',
  tag,
  summary: 'List your passkeys',
  description: `
    Returns the passkeys with which you sign in, the oldest first. The list is empty for people who sign in through an
    issuer.
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 200,
  response: List(Passkey),
  errors: [],
});

export const createPasskeyChallenge = operation({
  id: 'createPasskeyChallenge',
  method: 'POST',
  path: '/account/passkey/challenge',
  tag,
  summary: 'Begin to add a passkey',
  description: `
    Returns the options with which the browser makes a passkey. Send the passkey to \`createPasskey\` within ten minutes,
    with the cookie of the response and in the same session. It needs your password and second factor, so that a stolen
    session adds no key.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | The password is wrong. | \`errors\` names the field. |
    | \`SECOND_FACTOR_REQUIRED\` (401) | \`code\` is missing, wrong or was used. | Send its present code, or a recovery code. |
    | \`FORBIDDEN\` (403) | The account has 20 passkeys, passwords are off, or Davit was opened by an IP address. | The message says which. |
    | \`NO_PASSWORD\` (409) | You sign in through an issuer. | Add passkeys at the issuer. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Type.Object({
    password: about('Your present password.', Type.String({ maxLength: 1000 })),
    code: Type.Optional(
      about(
        'The present code of your second factor, or a recovery code. Left out: the account has none.',
        Type.String({ maxLength: 100 }),
      ),
    ),
  }),
  status: 201,
  response: CreationOptions,
  errors: [400, 409],
});

export const createPasskey = operation({
  id: 'createPasskey',
  method: 'POST',
  path: '/account/passkey',
  tag,
  summary: 'Add a passkey',
  description: `
    Adds the passkey that the browser made for the challenge of \`createPasskeyChallenge\`. From then on it can sign you in
    instead of password and second factor; both stay.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | The credential does not answer the challenge, is for another address, or was made without PIN, finger or face. | Begin again. |
    | \`SIGN_IN_EXPIRED\` (400) | Another browser began, it was used before, or it is older than ten minutes. | Begin again. |
    | \`FORBIDDEN\` (403) | The account has 20 passkeys, or passwords are switched off. | Remove one first. |
    | \`ALREADY_EXISTS\` (409) | The passkey was added before. | Nothing to do. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Named(
    'PasskeyRequest',
    Type.Object({
      name: about('What you call the device or program that holds it, as in *Phone*.', Name),
      credential: about('The new passkey that the browser returned for the challenge.', NewCredential),
    }),
    'A new passkey, as the browser made it.',
  ),
  status: 201,
  response: Passkey,
  errors: [400, 409],
});

export const editPasskey = operation({
  id: 'editPasskey',
  method: 'PUT',
  path: '/account/passkey/{passkeyId}',
  record: null,
  tag,
  summary: 'Rename a passkey',
  description: `
    Changes the name under which \`listPasskeys\` shows one of your passkeys. Nothing else about it changes, and no session
    ends.
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  body: Type.Object({ name: about('The new name of the passkey.', Name) }),
  status: 200,
  response: Passkey,
  errors: [400],
});

export const deletePasskey = operation({
  id: 'deletePasskey',
  method: 'DELETE',
  path: '/account/passkey/{passkeyId}',
  record: null,
  tag,
  summary: 'Remove a passkey',
  description: `
    Removes one of your passkeys: it signs nobody in any more. Sessions stay; if the device was stolen, end them with
    \`endOtherSessions\`. You can still sign in with your password.
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'people',
  status: 204,
  response: null,
  errors: [],
});

export const createPasskeySignIn = operation({
  id: 'createPasskeySignIn',
  method: 'POST',
  path: '/signIn/passkey/challenge',
  tag,
  summary: 'Begin to sign in with a passkey',
  description: `
    Returns the options with which the browser asks for a passkey. They say nothing about accounts. The cookie of the
    response is valid for ten minutes and used once.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | Passwords are switched off, or Davit was opened by an IP address. | Open it by its name; the message says which. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  status: 201,
  response: RequestOptions,
  errors: [],
});

export const signInWithPasskey = operation({
  id: 'signInWithPasskey',
  method: 'POST',
  path: '/signIn/passkey',
  tag,
  summary: 'Sign in with a passkey',
  description: `
    Signs in the person whose passkey answered the challenge of \`createPasskeySignIn\`. The response sets the cookie of a
    session. No second factor is needed: the passkey is one factor, its PIN, finger or face the other.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`SIGN_IN_EXPIRED\` (400) | Another browser began, it was used before, or it is older than ten minutes. | Begin again. |
    | \`SIGN_IN_REFUSED\` (401) | The passkey is unknown or was removed, its answer is for another address or without PIN, finger or face, or it was copied. | Sign in with your password, and look at your passkeys. |
  `,
  scope: 'READ',
  target: 'instance',
  audience: 'anybody',
  body: Type.Object({ credential: about('The answer of the browser to the challenge.', SignedCredential) }),
  status: 201,
  response: SignedIn,
  errors: [400],
});

import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Named, Nullable, Optionals, Uuid, Words } from '../shape.ts';
import { Commit } from '../shared/commit.ts';
import { path, releaseChangeKinds } from '../shared/release.ts';

const secret = 'Whether the value is a secret, or contains one. Its value is never shown.';

const ReleaseSetting = Named(
  'ReleaseSetting',
  Type.Object({
    path: about(path, Type.String()),
    value: about('Texts as they are, everything else as JSON. null: the value is secret.', Nullable(Type.String())),
    secret: about(secret, Type.Boolean()),
  }),
  'One setting of a release.',
);

const ReleaseChange = Named(
  'ReleaseChange',
  Type.Object({
    path: about(path, Type.String()),
    kind: Words(releaseChangeKinds),
    before: about('The value in the earlier release. null: there was none, or it is secret.', Nullable(Type.String())),
    after: about('The value in the later release. null: there is none, or it is secret.', Nullable(Type.String())),
    secret: about(`${secret} One secret value hides the other one, too.`, Type.Boolean()),
  }),
  'One setting that differs between two releases.',
);

const facts = {
  id: about('The `id` of the release, the `release_id` of histories and statuses.', Uuid),
  created_at: about('When the deployment was requested that made the release.', DateTime),
  created_by: about('Who requested that deployment.', Type.String()),
  commit: about('The commit that was built. null: nothing is built, or it was never found.', Nullable(Commit)),
};

const ComparedRelease = Named('ComparedRelease', Type.Object(facts), 'A release, without its settings.');

export const getServiceRelease = operation({
  id: 'getServiceRelease',
  method: 'GET',
  path: '/service/{serviceId}/release/{releaseId}',
  tag: 'Release',
  summary: 'Read a release of a service',
  description: `
    Returns what a release runs: its source, command, ports, resources, variables, files and other settings. A release
    never changes. Settings that are not set are left out.

    Values of secrets are never shown, nor the former plain value of a variable that is or was a secret, nor a text of the
    release that contains a former value of it.
  `,
  scope: 'READ',
  target: 'service',
  status: 200,
  response: Named(
    'ServiceRelease',
    Type.Object({
      ...facts,
      settings: about('The settings, by path.', Type.Array(ReleaseSetting)),
    }),
    'What was deployed: the settings of a service at one time.',
  ),
  errors: [],
});

export const compareServiceReleases = operation({
  id: 'compareServiceReleases',
  method: 'GET',
  path: '/service/{serviceId}/releaseChanges',
  tag: 'Release',
  summary: 'Compare two releases of a service',
  description: `
    Returns the settings that differ between two releases, with both values. Without \`to\` it compares with the settings
    that a deployment would use now: this is why a service is out of date.

    A value that is secret in one of the releases, in another release, or now, is shown in neither: \`secret\` is then true
    and both values are null. The same is true for texts that contain such a value.
  `,
  scope: 'READ',
  target: 'service',
  query: Optionals({
    from: about(
      `The \`id\` of the earlier release. Without it, the one with which the service worked before \`to\`; without \`to\`,
       the deployed one.`,
      Uuid,
    ),
    to: about('The `id` of the later release. Without it, the settings as they are now.', Uuid),
  }),
  status: 200,
  response: Named(
    'ReleaseComparison',
    Type.Object({
      from: about('The earlier release. null: the service did not work before; nothing is compared.', Nullable(ComparedRelease)),
      to: about('The later release. null: the settings as they are now.', Nullable(ComparedRelease)),
      changes: about('The settings that differ, by path.', Type.Array(ReleaseChange)),
    }),
    'The differences between two releases.',
  ),
  errors: [400],
});

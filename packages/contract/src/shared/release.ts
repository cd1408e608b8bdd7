import Type from 'typebox';
import { about, DateTime, enumeration, Named, Uuid, Words } from '../shape.ts';

export const releaseChangeKinds = enumeration(
  'ReleaseChangeKind',
  {
    ADDED: 'Only the later release has the setting.',
    CHANGED: 'Both releases have the setting, with different values.',
    REMOVED: 'Only the earlier release has the setting.',
  },
  'How a setting differs between two releases.',
);

export const path = 'The names that lead to the setting, joined by dots, for example `variables.MODE`.';

/** The differences from the release with which a service worked last. */
export const ChangedSinceSuccess = Named(
  'ChangedSinceSuccess',
  Type.Object({
    release_id: about('The `id` of the release with which the service worked last.', Uuid),
    at: about('When the last deployment that succeeded has ended.', DateTime),
    total: about('The number of all settings that differ. 0: the same settings worked before.', Type.Integer()),
    changes: about(
      'The first 50 settings that differ, by path. `compareServiceReleases` returns all, with values.',
      Type.Array(
        Named(
          'ChangedSetting',
          Type.Object({
            path: about(path, Type.String()),
            kind: Words(releaseChangeKinds),
          }),
          'A setting that differs, without its values.',
        ),
      ),
    ),
  }),
  `What changed since a service last worked. It is recorded with the failure, and has no values: a value may become a
   secret later.`,
);

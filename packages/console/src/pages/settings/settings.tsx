import { ApiError } from '@davit/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { actOnService } from '../../data/actions.ts';
import { editRefusalIn } from '../../data/rights.ts';
import { advancedOf, editAdvanced, editService, recordOf, type Stored } from '../../data/settings.ts';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { messageAt } from '../../parts/form-field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { LeaveGuard } from '../../parts/leave-guard.tsx';
import { Box } from '../../parts/page.tsx';
import { Refusal } from '../../parts/refusal.tsx';
import { Saver } from '../../parts/saver.tsx';
import { plural, type Service } from '../../words.ts';
import { useService } from '../service.tsx';
import { DeleteService } from './delete.tsx';
import { SettingField } from './field.tsx';
import { bodiesOf, isInConflict, sectionsOf, storedValue, withoutSetting, withSetting, type Draft } from './form.ts';
import { ReviewSettings } from './review.tsx';
import type { Section, Setting } from './setting.ts';

/** The settings of a service by its kind, in sections. */
export function SettingsPage(): ReactNode {
  const { service } = useService();
  return service === undefined ? <Loading /> : <Settings key={service.id} service={service} />;
}

function Loading(): ReactNode {
  return (
    <div className="box">
      <LoadingRows rows={6} />
    </div>
  );
}

function Settings({ service }: { readonly service: Service }): ReactNode {
  const record = useQuery(recordOf(service));
  const advanced = useQuery(advancedOf(service));
  const failed = [record, advanced].find((query) => query.data === undefined && query.error !== null);
  if (failed !== undefined && failed.error !== null) {
    return <FailedFace error={failed.error} onRetry={() => void failed.refetch()} />;
  }
  if (record.data === undefined || advanced.data === undefined) return <Loading />;
  return <Form service={service} record={record.data} advanced={advanced.data} />;
}

interface FormProps {
  readonly service: Service;
  readonly record: Stored;
  readonly advanced: Stored;
}

function Form({ service, record, advanced }: FormProps): ReactNode {
  const mayNot = useQuery(editRefusalIn(service.environment.id)).data ?? null;
  const [draft, setDraft] = useState<Draft>(new Map());
  const [isReviewed, review] = useState(false);
  const save = useSaving(service, record, draft, setDraft);
  const sections = sectionsOf(service, record, advanced);
  const settings = sections.flatMap((section) => section.settings);
  const inConflict = settings.filter((one) => isInConflict(draft.get(one.path), storedValue(one, record, advanced))).length;
  const paths = new Set(settings.map(({ path }) => path));
  return (
    <>
      <ErrorNote error={elsewhere(save.error, paths)} />
      <Refusal reason={mayNot} isAlone />
      <Sections
        sections={sections}
        field={(setting) => {
          const { path } = setting;
          const stored = storedValue(setting, record, advanced);
          return (
            <SettingField
              key={path}
              setting={setting}
              stored={stored}
              edited={draft.get(path)}
              error={messageAt(save.error, path.replace('advanced:', ''))}
              isReadOnly={mayNot !== null || save.isPending}
              onChange={(value) => setDraft((now) => withSetting(now, path, value, stored))}
              onKeep={(value) => setDraft((now) => new Map(now).set(path, { value, base: stored }))}
              onUndo={() => setDraft((now) => withoutSetting(now, path))}
            />
          );
        }}
      />
      <DeleteService service={service} refusal={mayNot} />
      {draft.size > 0 && (
        <Saver
          title={`${plural(draft.size, 'change')}.`}
          about={inConflict > 0 ? 'Somebody else changed the same settings: decide first.' : 'Nothing is saved yet.'}
          verb={`Review ${plural(draft.size, 'change')}`}
          refusal={
            mayNot ?? (save.isPending ? 'The changes are being saved.' : inConflict > 0 ? 'Decide first what counts.' : null)
          }
          onSave={() => review(true)}
          onDiscard={() => setDraft(new Map())}
        />
      )}
      {isReviewed && draft.size > 0 && inConflict === 0 && (
        <ReviewSettings service={service} draft={draft} settings={settings} onSave={save.mutate} onClose={() => review(false)} />
      )}
      <LeaveGuard count={draft.size} what={plural(draft.size, 'change')} />
    </>
  );
}

/** Returns an error with messages that no field on the page shows; null if all stand at their fields. */
function elsewhere(error: Error | null, paths: ReadonlySet<string>): Error | null {
  if (!(error instanceof ApiError) || error.errors.length === 0) return error;
  const all = [...paths].map((path) => path.replace('advanced:', ''));
  const others = error.errors.filter(({ path }) => !all.some((one) => path === one || path.startsWith(`${one}.`)));
  const { status, code, message } = error;
  return others.length === 0 ? null : new ApiError({ status, code, message, errors: [...others] });
}

type SetDraft = (change: (now: Draft) => Draft) => void;

/** Saves the record first, then the advanced settings. What is saved leaves the draft. */
function useSaving(service: Service, record: Stored, draft: Draft, setDraft: SetDraft) {
  const queries = useQueryClient();
  const environmentId = service.environment.id;
  return useMutation({
    mutationFn: async (doesDeploy: boolean): Promise<void> => {
      const updatedAt = record['updated_at'];
      const bodies = bodiesOf(draft, record);
      const isAdvanced = (path: string): boolean => path.startsWith('advanced:');
      const forget = (saved: (path: string) => boolean): void =>
        setDraft((now) => new Map([...now].filter(([path]) => !saved(path))));
      if (bodies.service !== null) {
        await editService(service, bodies.service, typeof updatedAt === 'string' ? updatedAt : '');
        forget((path) => !isAdvanced(path));
      }
      if (bodies.advanced !== null) {
        // These settings have no version of their own.
        const now = await queries.fetchQuery({ ...advancedOf(service), staleTime: 0 });
        const moved = [...draft].some(([path, edited]) => {
          return isAdvanced(path) && isInConflict(edited, storedValue({ path }, record, now));
        });
        if (moved)
          throw new ApiError({ status: 412, code: 'PRECONDITION_FAILED', message: 'Somebody else changed the same settings.' });
        await editAdvanced(service, bodies.advanced);
        forget(isAdvanced);
      }
      if (doesDeploy) await actOnService('deploy', service);
    },
    // Also after a refusal: the record may have been changed by somebody else, which the fields then show.
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['overview'] }),
        ...['record', 'advanced', 'details', 'services', 'configurationChanges'].map((key) =>
          queries.invalidateQueries({ queryKey: [key, environmentId] }),
        ),
      ]),
  });
}

interface SectionsProps {
  readonly sections: readonly Section[];
  readonly field: (setting: Setting) => ReactNode;
}

/** The sections with what the address searches for. */
function Sections({ sections, field }: SectionsProps): ReactNode {
  const { find = '' } = useSearch({ strict: false });
  const navigate = useNavigate();
  const words = find.toLowerCase().split(/\s+/);
  const found = sections
    .map(({ title, settings }) => ({
      title,
      settings: settings.filter(({ path, label, help }) => {
        const text = `${title} ${path} ${label} ${help}`.toLowerCase();
        return words.every((word) => text.includes(word));
      }),
    }))
    .filter(({ settings }) => settings.length > 0);
  return (
    <>
      <div className="toolbar">
        <div className="field flex-1">
          <Icon name="search" />
          <input
            type="search"
            aria-label="Find a setting"
            placeholder="Find a setting"
            value={find}
            onChange={({ target }) => void navigate({ to: '.', search: { find: target.value }, replace: true })}
          />
        </div>
      </div>
      {found.length === 0 && (
        <div className="box">
          <Face icon="search" title="No setting has this">
            The search looks at names and help, and at the names of the fields in the API.
          </Face>
        </div>
      )}
      {found.map(({ title, settings }) => (
        <Box key={title} title={title}>
          {settings.map(field)}
        </Box>
      ))}
    </>
  );
}

import type { ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { plural } from '../../words.ts';
import { inheritedAt, levels, type Edit, type Level, type Slot } from './draft.ts';
import { reachOf } from './origin.tsx';

interface ReviewProps {
  readonly changes: readonly Edit[];
  readonly slots: ReadonlyMap<string, Slot>;
  readonly names: Readonly<Record<Level, string>>;
  readonly deployRefusal: string | null;
  readonly onSave: (doesDeploy: boolean) => void;
  readonly onClose: () => void;
}

/** The difference before it is saved, by the level of the changes. */
export function Review({ changes, slots, names, deployRefusal, onSave, onClose }: ReviewProps): ReactNode {
  const wide = changes.filter(({ level }) => level !== 'SERVICE');
  return (
    <Dialog label="Review the changes" className="wide" onClose={onClose}>
      <div className="in">
        <h2>Save {plural(changes.length, 'change')}?</h2>
        {levels.map((level) => {
          const here = changes.filter((edit) => edit.level === level);
          if (here.length === 0) return null;
          return (
            <section key={level} aria-label={reachOf(level, names)}>
              <h3>{reachOf(level, names)}</h3>
              {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard */}
              <div className="diff" tabIndex={0}>
                {here.map((edit) => (
                  <Lines key={edit.key} edit={edit} slot={slots.get(edit.key)} />
                ))}
              </div>
            </section>
          );
        })}
        <p className="text-muted">
          Running instances keep their variables until they are deployed.
          {wide.length > 0 && ' Other services that see these variables are out of date then, too.'}
        </p>
        <div className="do">
          <Button onClick={onClose}>Go on editing</Button>
          <Button onClick={() => onSave(false)}>Save</Button>
          <Button look="main" refusal={deployRefusal} onClick={() => onSave(true)}>
            Save and deploy {names.SERVICE}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function Lines({ edit, slot }: { readonly edit: Edit; readonly slot: Slot | undefined }): ReactNode {
  const former = edit.base ?? inheritedAt(slot, edit.level);
  const text = (value: string, isSecret: boolean): string => `${edit.key}=${isSecret ? '••••••••' : value}`;
  return (
    <>
      {former !== undefined && (
        <div className="minus">
          {`− ${text(former.value ?? '', former.is_secret)}`}
          {edit.base === null && <span className="text-muted">{'  inherited'}</span>}
        </div>
      )}
      {edit.change === 'SET' && (
        <div className="plus">
          {edit.aliasOf === undefined ? `+ ${text(edit.value, edit.isSecret)}` : `+ ${edit.key}  alias of ${edit.aliasOf.key}`}
          {edit.mountPath !== null && <span className="text-muted">{`  file ${edit.mountPath}`}</span>}
        </div>
      )}
    </>
  );
}

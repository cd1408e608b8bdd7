import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { refusalIn } from '../../data/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { plural, type Service } from '../../words.ts';
import { lostVolumes, type Draft } from './form.ts';
import { shown } from '../../data/paths.ts';
import type { Setting } from './setting.ts';

interface ReviewProps {
  readonly service: Service;
  readonly draft: Draft;
  readonly settings: readonly Setting[];
  readonly onSave: (doesDeploy: boolean) => void;
  readonly onClose: () => void;
}

/** The difference before it is saved, and when it takes effect. */
export function ReviewSettings({ service, draft, settings, onSave, onClose }: ReviewProps): ReactNode {
  const mayNotDeploy = useQuery(refusalIn(service.environment.id)).data ?? null;
  const changed = settings.filter(({ path }) => draft.has(path));
  const needsDeployment = changed.some(({ isImmediate }) => isImmediate !== true);
  const storage = draft.get('storage');
  const lost = storage === undefined ? [] : lostVolumes(storage);
  const save = (doesDeploy: boolean): void => {
    onSave(doesDeploy);
    onClose();
  };
  return (
    <Dialog label="Review the changes" className="wide" onClose={onClose}>
      <div className="in">
        <h2>Save {plural(changed.length, 'change')}?</h2>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard */}
        <div className="diff" tabIndex={0}>
          {changed.map(({ path, label }) => {
            const edited = draft.get(path);
            return (
              <div key={path}>
                <div className="text-muted">{label}</div>
                <div className="minus">− {shown(edited?.base)}</div>
                <div className="plus">+ {shown(edited?.value)}</div>
              </div>
            );
          })}
        </div>
        {lost.length > 0 && (
          <p className="wrong">
            The data in {lost.join(', ')} is deleted with its volume at the next deployment. It cannot be brought back.
          </p>
        )}
        <p className="text-muted">
          {needsDeployment
            ? 'Running instances keep their settings until the next deployment.'
            : 'This takes effect at once; no deployment is needed.'}
        </p>
        <div className="do">
          <Button onClick={onClose}>Go on editing</Button>
          <Button look={needsDeployment ? 'plain' : 'main'} onClick={() => save(false)}>
            Save
          </Button>
          {needsDeployment && (
            <Button look="main" refusal={mayNotDeploy} onClick={() => save(true)}>
              Save and deploy
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

import { useMemo, useState, type ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { FormField } from '../../parts/form-field.tsx';
import { plural } from '../../words.ts';
import { looksSecret, textOf, withText, type Draft, type FromText, type Level, type Slot } from './draft.ts';
import { LevelChoice } from './level-choice.tsx';

interface AsTextProps {
  /** `paste`: adds to what is there. `all`: the text is the whole level, so that a line that is gone is a deletion. */
  readonly mode: 'paste' | 'all';
  readonly slots: readonly Slot[];
  readonly draft: Draft;
  readonly names: Readonly<Record<Level, string>>;
  readonly onDraft: (draft: Draft) => void;
  readonly onClose: () => void;
}

/** Variables as the text of a .env file. Nothing is saved: what differs joins the edits. */
export function AsText({ mode, slots, draft, names, onDraft, onClose }: AsTextProps): ReactNode {
  const doesReplace = mode === 'all';
  const [level, setLevel] = useState<Level>('SERVICE');
  const [text, setText] = useState(() => (doesReplace ? textOf(slots, draft, 'SERVICE') : ''));
  const [areSecret, setSecret] = useState(true);
  const result = useMemo(
    () => withText({ slots, draft, level, text, doesReplace, isSecret: (key) => areSecret && looksSecret(key) }),
    [slots, draft, level, text, doesReplace, areSecret],
  );
  const { added, changed, removed } = result.count;
  const secrets = [...result.draft.values()].filter(
    (edit) => edit.isSecret && edit.base === null && !draft.has(`${edit.level} ${edit.key}`),
  );
  const title = doesReplace ? 'Edit as text' : 'Paste a .env file';
  const unread = result.problems.filter(({ isNote }) => !isNote).length;
  return (
    <FormDialog label={title} className="wide" onClose={onClose}>
      <div className="in form">
        <h2>{title}</h2>
        <LevelChoice
          level={level}
          names={names}
          onChange={(next) => {
            setLevel(next);
            if (doesReplace) setText(textOf(slots, draft, next));
          }}
        />
        <FormField
          label="Text"
          help={
            doesReplace
              ? 'One variable a line. A line that you take out deletes its variable. Secrets and aliases are not in the text and stay.'
              : 'Comments, export, quotes and values over several lines are understood. Existing keys get the new value.'
          }
        >
          {(control) => (
            <textarea
              {...control}
              className="mono"
              rows={12}
              spellCheck={false}
              autoComplete="off"
              // oxlint-disable-next-line jsx-a11y/no-autofocus -- the dialog is opened to paste or type
              autoFocus
              placeholder={'DATABASE_URL=postgres://…\nexport LOG_LEVEL="info"'}
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </FormField>
        {(secrets.length > 0 || !areSecret) && (
          <label className="check">
            <input type="checkbox" checked={areSecret} onChange={({ target }) => setSecret(target.checked)} />
            Store keys that are named like secrets as secrets{areSecret && `: ${secrets.map(({ key }) => key).join(', ')}`}
          </label>
        )}
        <Problems problems={result.problems} />
        <div className="do">
          <span className="text-muted mr-auto" role="status">
            {added} new, {changed} changed{doesReplace && `, ${removed} deleted`}
            {unread > 0 && `, ${plural(unread, 'line')} not read`}
          </span>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="main"
            refusal={refusalOf({ changes: added + changed + removed, unread: doesReplace ? unread : 0 })}
            onClick={() => {
              onDraft(result.draft);
              onClose();
            }}
          >
            Add to the changes
          </Button>
        </div>
      </div>
    </FormDialog>
  );
}

/** Returns why the text does not become edits. A variable whose line cannot be read would be deleted. */
export function refusalOf({ changes, unread }: { readonly changes: number; readonly unread: number }): string | null {
  if (unread > 0) return `Correct or take out the ${unread === 1 ? 'line' : 'lines'} that cannot be read first.`;
  return changes === 0 ? 'The text changes nothing.' : null;
}

function Problems({ problems }: { readonly problems: FromText['problems'] }): ReactNode {
  if (problems.length === 0) return null;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard
    <ul className="problems" aria-label="Lines that deserve a look" tabIndex={0}>
      {problems.map(({ line, message, isNote }) => (
        <li key={`${line} ${message}`} className={isNote ? '' : 'wrong'}>
          Line {line}: {message}
        </li>
      ))}
    </ul>
  );
}

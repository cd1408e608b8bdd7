import { memo, useId, type ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { Conflict } from '../../parts/conflict.tsx';
import { Ago, Cut, CutAll } from '../../parts/page.tsx';
import {
  conflictOf,
  inheritedAt,
  layerAt,
  levelOf,
  levels,
  refusalAt,
  type Edit,
  type Level,
  type Slot,
  type Variable,
} from './draft.ts';
import { Origin, levelWords, reachOf, resolved } from './origin.tsx';

interface RowProps {
  readonly slot: Slot;
  /** The variable that the row is about; undefined: a new one. */
  readonly layer: Variable | undefined;
  /** Where the row's edits are made; null: where the author chooses. */
  readonly level: Level | null;
  readonly edit: Edit | undefined;
  readonly slots: ReadonlyMap<string, Slot>;
  readonly names: Readonly<Record<Level, string>>;
  readonly refusal: string | null;
  readonly onEdit: (edit: Edit, former?: Edit) => void;
  readonly onUndo: (edit: Edit) => void;
}

/**
 * A variable: its key, its value or an edit of it, and where it comes from. A row is drawn again only when something in
 * it changed: there may be a thousand.
 */
export const VariableRow = memo(function VariableRow(props: RowProps): ReactNode {
  const { slot, layer, edit } = props;
  return (
    <tr className={edit === undefined ? '' : 'edited'}>
      <td className="key">
        <code>
          <Cut text={slot.key} />
        </code>
        {layer !== undefined && (
          <div className="under narrow-only">
            <Origin slot={slot} layer={layer} />
          </div>
        )}
      </td>
      <td className="value">{edit === undefined ? <Value {...props} /> : <EditedValue {...props} edit={edit} />}</td>
      <td className="wide-only">
        {layer === undefined ? (
          <span className="from">new, {levelWords[edit?.level ?? 'SERVICE']}</span>
        ) : (
          <Origin slot={slot} layer={layer} />
        )}
      </td>
      <td className="do text-right">
        <RowActions {...props} />
      </td>
    </tr>
  );
});

function Value({ layer, slots }: RowProps): ReactNode {
  if (layer === undefined) return null;
  if (layer.is_secret) {
    return (
      <span className="text-muted">
        <span aria-label="A secret">••••••••</span> set <Ago at={layer.updated_at ?? layer.created_at} />
      </span>
    );
  }
  const value = layer.aliased_variable?.value ?? layer.value ?? '';
  const shown = resolved(value, slots);
  const path = layer.mount_path ?? '';
  return (
    <>
      {path === '' ? (
        <code>
          <Cut text={value.replaceAll('\n', '↵')} />
        </code>
      ) : (
        <CutAll texts={[path, `file, ${new Blob([value]).size.toLocaleString('en')} bytes`]} />
      )}
      {shown !== null && (
        <div className="under">
          <Cut text={`→ ${shown}`} />
        </div>
      )}
    </>
  );
}

function begun({ slot, layer, level }: RowProps, change: Edit['change']): Edit {
  const own = layer === undefined ? null : levelOf(layer);
  const at = level ?? (change === 'DELETE' ? (own ?? 'SERVICE') : 'SERVICE');
  const base = layerAt(slot, at) ?? null;
  const shown = base ?? layer;
  return {
    level: at,
    key: slot.key,
    change,
    value: shown?.is_secret === true ? '' : (shown?.value ?? ''),
    isSecret: shown?.is_secret ?? false,
    mountPath: null,
    base,
  };
}

function RowActions(props: RowProps): ReactNode {
  const { slot, layer, level, edit, refusal, onEdit, onUndo } = props;
  if (edit !== undefined) {
    return (
      <Button look="quiet" isSmall onClick={() => onUndo(edit)}>
        Undo<span className="sr-only"> {slot.key}</span>
      </Button>
    );
  }
  const isBuiltIn = layer?.scope === 'BUILT_IN';
  return (
    <span className="inline-flex">
      <Button
        look="quiet"
        isSmall
        refusal={refusal ?? refusalAt(slot, level ?? 'SERVICE')}
        onClick={() => onEdit({ ...begun(props, 'SET'), isOpen: true })}
      >
        Edit<span className="sr-only"> {slot.key}</span>
      </Button>
      <Button
        look="quiet"
        isSmall
        refusal={refusal ?? (isBuiltIn ? 'Davit sets built-in variables itself.' : null)}
        onClick={() => onEdit(begun(props, 'DELETE'))}
      >
        Delete<span className="sr-only"> {slot.key}</span>
      </Button>
    </span>
  );
}

type EditedProps = RowProps & { readonly edit: Edit };

function EditedValue(props: EditedProps): ReactNode {
  const { slot, edit } = props;
  const conflict = conflictOf(edit, slot);
  return (
    <>
      {edit.change === 'DELETE' && <Deletion slot={slot} edit={edit} />}
      {edit.change === 'SET' && edit.aliasOf === undefined && <Input {...props} />}
      {edit.aliasOf !== undefined && (
        <span className="from">
          alias of <bdi className="mono">{edit.aliasOf.key}</bdi>
        </span>
      )}
      {conflict !== null && (
        <Conflict
          did={conflictWords(edit, conflict.now)}
          value={conflict.now?.value ?? undefined}
          onKeep={() => props.onEdit({ ...edit, base: conflict.now, isOpen: true }, edit)}
          onTake={() => props.onUndo(edit)}
        />
      )}
      {edit.error !== undefined && (
        <div className="wrong" role="alert">
          {edit.error}
        </div>
      )}
    </>
  );
}

function Deletion({ slot, edit }: { readonly slot: Slot; readonly edit: Edit }): ReactNode {
  const next = inheritedAt(slot, edit.level);
  const after =
    next === undefined
      ? 'then the process gets no such variable'
      : `then the value of the ${next.scope === 'BUILT_IN' ? 'built-in variable' : levelWords[levelOf(next) ?? 'PROJECT']} counts`;
  return (
    <>
      <s className="mono">{edit.isSecret ? '••••••••' : edit.base?.value}</s>
      <div className="under">
        Is deleted from the {levelWords[edit.level]}; {after}.
      </div>
    </>
  );
}

function Input({ slot, layer, level, edit, names, onEdit }: EditedProps): ReactNode {
  const id = useId();
  const was = edit.base ?? layer;
  const change = (more: Partial<Edit>): void => onEdit({ ...edit, isOpen: true, ...more }, edit);
  const widest = layer === undefined ? null : levelOf(layer);
  const choices = levels.filter((one) => widest === null || levels.indexOf(one) <= levels.indexOf(widest));
  return (
    <>
      <textarea
        aria-label={`Value of ${slot.key}`}
        aria-describedby={`${id}-was`}
        rows={Math.min(8, edit.value.split('\n').length)}
        spellCheck={false}
        autoComplete="off"
        placeholder={edit.isSecret ? 'New value; it is never shown again' : ''}
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- the edit was begun to type
        autoFocus={layer !== undefined}
        value={edit.value}
        onChange={({ target }) => change({ value: target.value })}
      />
      <div className="below">
        <div className="under" id={`${id}-was`}>
          {was !== undefined && (
            <>
              was <span className="mono">{was.is_secret ? '••••••••' : (was.value ?? '').slice(0, 200) || 'empty'}</span>
            </>
          )}
          {edit.mountPath !== null && ` file ${edit.mountPath}`}
          {edit.isSecret && was === undefined && ' a secret'}
        </div>
        {level === null && choices.length > 1 && (
          <label className="under reach">
            For{' '}
            <select
              value={edit.level}
              onChange={({ target }) => {
                const at = levels.find((one) => one === target.value) ?? 'SERVICE';
                change({ level: at, base: layerAt(slot, at) ?? null });
              }}
            >
              {choices.map((one) => (
                <option key={one} value={one}>
                  {reachOf(one, names)}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
    </>
  );
}

function conflictWords({ base }: Edit, now: Variable | null): string {
  if (now === null) return 'deleted it';
  if (now.is_secret) return 'set another secret';
  return base === null ? 'created it with' : 'set it to';
}

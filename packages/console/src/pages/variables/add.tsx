import { useState, type ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { FormField } from '../../parts/form-field.tsx';
import { TextInput } from '../../parts/text-input.tsx';
import { Segments } from '../../parts/segments.tsx';
import { inheritedAt, layerAt, looksSecret, refusalAt, type Edit, type Level, type Slot } from './draft.ts';
import { LevelChoice } from './level-choice.tsx';

interface AddProps {
  readonly slots: ReadonlyMap<string, Slot>;
  readonly names: Readonly<Record<Level, string>>;
  readonly onAdd: (edit: Edit) => void;
  readonly onClose: () => void;
}

type Sort = 'VALUE' | 'SECRET' | 'FILE' | 'ALIAS';
const sorts = [
  ['VALUE', 'Variable'],
  ['SECRET', 'Secret'],
  ['FILE', 'File'],
  ['ALIAS', 'Alias'],
] as const;

/** Asks for a new variable, secret or file. It joins the edits that are not saved yet. */
export function AddVariable({ slots, names, onAdd, onClose }: AddProps): ReactNode {
  const [key, setKey] = useState('');
  const [value, setValue] = useState('');
  const [path, setPath] = useState('');
  const [target, setTarget] = useState('');
  const [chosen, choose] = useState<Sort | null>(null);
  const [level, setLevel] = useState<Level>('SERVICE');
  const sort = chosen ?? (looksSecret(key) ? 'SECRET' : 'VALUE');
  const slot = slots.get(key);
  const there = layerAt(slot, level);
  const inherited = inheritedAt(slot, level);
  const taken = there === undefined ? refusalAt(slot, level) : 'This key exists here already: edit it in the list.';
  const missing = missingIn({ key, sort, path, target });
  const add = (): void => {
    const edit = { level, key, change: 'SET', base: null } as const;
    const aliased = slots.get(target)?.layers[0];
    if (sort === 'ALIAS' && aliased !== undefined) {
      onAdd({ ...edit, value: aliased.value ?? '', isSecret: aliased.is_secret, mountPath: null, aliasOf: aliased });
    } else {
      const isSecret = inherited?.is_secret ?? sort === 'SECRET';
      onAdd({ ...edit, value, isSecret, mountPath: sort === 'FILE' ? path : null });
    }
    onClose();
  };
  return (
    <FormDialog label="Add a variable" onClose={onClose}>
      <form
        className="in form"
        onSubmit={(event) => {
          event.preventDefault();
          if (missing === null && taken === null) add();
        }}
      >
        <h2>Add a variable</h2>
        <FormField label="Key" error={key === '' ? null : taken}>
          {(control) => <TextInput {...control} value={key} onText={(text) => setKey(text.trim())} />}
        </FormField>
        <Segments label="Kind" options={sorts} value={sort} onChange={choose} />
        {sort === 'FILE' && (
          <FormField label="Path of the file" help="The process finds the value in this file, and the path in the variable.">
            {(control) => <TextInput {...control} value={path} onText={setPath} />}
          </FormField>
        )}
        {sort === 'ALIAS' ? (
          <TargetChoice slots={slots} target={target} onChange={setTarget} />
        ) : (
          <FormField
            label="Value"
            help={
              sort === 'SECRET'
                ? 'It is stored encrypted and never shown again.'
                : '{{KEY}} is replaced by the value of that key.'
            }
          >
            {(control) => <TextInput {...control} rows={3} value={value} onText={setValue} />}
          </FormField>
        )}
        <LevelChoice
          level={level}
          names={names}
          onChange={setLevel}
          {...(inherited !== undefined && { help: 'It overrides the inherited value of this key.' })}
        />
        <div className="do">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" isSubmit refusal={missing ?? taken}>
            Add to the changes
          </Button>
        </div>
      </form>
    </FormDialog>
  );
}

interface Needed {
  readonly key: string;
  readonly sort: Sort;
  readonly path: string;
  readonly target: string;
}

function missingIn({ key, sort, path, target }: Needed): string | null {
  if (key === '') return 'The key is missing.';
  if (sort === 'FILE' && path === '') return 'The path is missing.';
  return sort === 'ALIAS' && target === '' ? 'What it is an alias of is missing.' : null;
}

interface TargetChoiceProps {
  readonly slots: AddProps['slots'];
  readonly target: string;
  readonly onChange: (target: string) => void;
}

/** Asks for the variable whose value an alias has. */
function TargetChoice({ slots, target, onChange }: TargetChoiceProps): ReactNode {
  const keys = [...slots.values()].filter(({ layers }) => layers[0]?.variable_type !== 'ALIAS').map(({ key }) => key);
  return (
    <FormField label="Alias of" help="The process gets the value of that key, with its overrides, under this key, too.">
      {(control) => (
        <select {...control} className="mono" value={target} onChange={({ target: { value } }) => onChange(value)}>
          <option value="">Choose a key</option>
          {keys.map((key) => (
            <option key={key}>{key}</option>
          ))}
        </select>
      )}
    </FormField>
  );
}

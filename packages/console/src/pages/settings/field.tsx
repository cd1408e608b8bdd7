import type { ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { Conflict } from '../../parts/conflict.tsx';
import { FormField } from '../../parts/form-field.tsx';
import { FieldControl } from '../../parts/field-control.tsx';
import { isInConflict, type Edited } from './form.ts';
import { shown, type Json } from '../../data/paths.ts';
import type { Setting } from './setting.ts';

interface SettingFieldProps {
  readonly setting: Setting;
  readonly stored: Json;
  readonly edited: Edited | undefined;
  readonly error: string | null;
  readonly isReadOnly: boolean;
  readonly onChange: (value: Json) => void;
  readonly onKeep: (value: Json) => void;
  readonly onUndo: () => void;
}

/** A setting: its label and help, its control, and what became of it since it was read. */
export function SettingField({
  setting,
  stored,
  edited,
  error,
  isReadOnly,
  onChange,
  onKeep,
  onUndo,
}: SettingFieldProps): ReactNode {
  const { label, help, control } = setting;
  const isWide = control.kind === 'rows' || control.kind === 'probe' || control.kind === 'code';
  return (
    <div className={`setting ${isWide ? 'broad' : ''} ${edited === undefined ? '' : 'edited'}`}>
      <FormField label={label} help={help} error={error === null ? null : rowWords(error)}>
        {(attributes) => (
          <div className="control">
            <FieldControl
              control={control}
              attributes={attributes}
              label={label}
              value={edited === undefined ? stored : edited.value}
              isReadOnly={isReadOnly}
              onChange={onChange}
            />
            {edited !== undefined && (
              <div className="below">
                {!isWide && <span className="under">was {shown(edited.base)}</span>}
                <Button look="quiet" isSmall onClick={onUndo}>
                  Undo<span className="sr-only"> {label}</span>
                </Button>
              </div>
            )}
            {edited !== undefined && isInConflict(edited, stored) && (
              <Conflict did="set it to" value={shown(stored)} onKeep={() => onKeep(edited.value)} onTake={onUndo} />
            )}
          </div>
        )}
      </FormField>
    </div>
  );
}

/** Returns the server's message with the numbers of rows as a reader counts them. */
function rowWords(message: string): string {
  return message.replaceAll(/(^|; )(\d+)\.?([\w.]*):/g, (_all, start: string, row: string, field: string) => {
    return `${start}Row ${Number(row) + 1}${field === '' ? '' : `, ${field.replaceAll('_', ' ')}`}:`;
  });
}

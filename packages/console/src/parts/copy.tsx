import { useState, type ReactNode } from 'react';
import { Button } from './button.tsx';

/** A text that is meant to be copied, with a button that does it. */
export function Copyable({ text, what }: { readonly text: string; readonly what: string }): ReactNode {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setState('done');
    } catch {
      // Pages on plain http from other machines may not write to the clipboard: the text can be selected by hand.
      setState('failed');
    }
  };
  return (
    <span className="copyable">
      <code>
        <bdi>{text}</bdi>
      </code>
      <Button look="quiet" isSmall onClick={() => void copy()}>
        {state === 'done' ? 'Copied' : state === 'failed' ? 'Select it by hand' : 'Copy'}
        <span className="sr-only"> {what}</span>
      </Button>
    </span>
  );
}

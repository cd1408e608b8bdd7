import type { Control } from '../../parts/control.ts';
import type { ServiceType } from '../../words.ts';

/** A setting of a service: one field of the form. */
export interface Setting {
  /** Path of the field in the request, and so in the API's errors. */
  readonly path: string;
  /** Path in the record, where it differs. */
  readonly from?: string;
  readonly label: string;
  readonly help: string;
  readonly control: Control;
  /** Takes effect when it is saved, without a deployment. */
  readonly isImmediate?: true;
}

export interface Section {
  readonly title: string;
  readonly kinds: readonly ServiceType[];
  /** Only for records that have this member. */
  readonly needs?: string;
  readonly settings: readonly Setting[];
}

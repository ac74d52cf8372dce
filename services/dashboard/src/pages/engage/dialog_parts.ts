import type { EngageView } from '#services/control_api/engage.ts';
import type { Editing } from '../../editing/use_editing.ts';
import type { KindSpec } from './engage_item.ts';

export interface EngageDialogProps {
  siteId: string;
  spec: KindSpec;
  /** Of the kind in the API. */
  path: string;
  /** Null: a new one. */
  item: EngageView | null;
  onChanged(): void;
  onClose(): void;
}

/** What every view of a definition that can be changed is given. */
export interface DefinitionTabProps extends Pick<EngageDialogProps, 'siteId' | 'spec' | 'item' | 'onChanged'> {
  /** Of the item in the API, or of the kind where it is new. */
  path: string;
  /** Holds the definition as JSON, which is what all views change. */
  form: Editing<{ text: string }>;
  onRemoved(): void;
}

export interface DefinitionFormProps extends DefinitionTabProps {
  /** Whether it is the view that is looked at. */
  isSeen: boolean;
}

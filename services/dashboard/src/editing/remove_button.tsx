import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Meta } from '#services/control_api/fields.ts';
import type { Answer } from '../api/api_answer.ts';
import { Confirm } from '../ui/dialog.tsx';
import { FailureNote } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { ConflictDialog } from './conflict_dialog.tsx';
import type { Facts } from './differences.ts';
import { useSaving } from './use_saving.ts';

interface RemoveButtonProps<Item extends Meta> {
  item: Item;
  name: string;
  /** What it is: "this definition". */
  what: string;
  names?: Readonly<Record<string, string>>;
  factsOf(item: Item): Facts;
  read(): Promise<Answer<Item>>;
  remove(base: Item): Promise<Answer<unknown>>;
  onRemoved(): void;
  onTheirs(): void;
  /** What becomes of it, for whoever is asked. */
  children: ComponentChildren;
}

/** Removes something after asking, and asks again where somebody else has changed it meanwhile. */
export function RemoveButton<Item extends Meta>({
  item,
  name,
  what,
  names = {},
  factsOf,
  read,
  remove,
  onRemoved,
  onTheirs,
  children,
}: RemoveButtonProps<Item>): VNode {
  const [asks, setAsks] = useState(false);
  const saving = useSaving();
  const removed = (): Promise<void> =>
    saving.save<Item>({
      loaded: item,
      factsOf,
      kept: () => null,
      read,
      write: remove,
      onSaved() {
        toast(`${name} was removed`);
        onRemoved();
      },
      onTheirs() {
        setAsks(false);
        onTheirs();
      },
    });
  return (
    <>
      <button type="button" class="button danger" onClick={() => setAsks(true)}>
        Remove
      </button>
      {asks && (
        <Confirm
          title={`Remove ${name}?`}
          action="Remove"
          isDangerous
          isBusy={saving.isBusy}
          onConfirm={() => void removed()}
          onClose={() => setAsks(false)}
        >
          <p>{children}</p>
          {saving.failure !== null && <FailureNote failure={saving.failure} />}
        </Confirm>
      )}
      <ConflictDialog saving={saving} what={what} names={names} />
    </>
  );
}

import type { VNode } from 'preact';

interface FormActionsProps {
  /** What the form does, as its button says it: "Add". */
  action: string;
  /** Whether it cannot be sent now. */
  disabled: boolean;
  onClose(): void;
}

/** The buttons of a form in a dialog: to leave it, and to send it. */
export function FormActions({ action, disabled, onClose }: FormActionsProps): VNode {
  return (
    <div class="actions">
      <button type="button" class="button" onClick={onClose}>
        Cancel
      </button>
      <button type="submit" class="button primary" disabled={disabled}>
        {action}
      </button>
    </div>
  );
}

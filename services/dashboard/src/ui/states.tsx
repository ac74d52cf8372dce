import type { ComponentChildren, VNode } from 'preact';
import { type Failure, mayPass, sentenceOf } from '../api/api_answer.ts';
import type { Asked } from '../api/use_answer.ts';
import { Icon } from './icon.tsx';

/** Room for what is not there yet, as high as that will be. */
export function Loading({ lines = 3, label = 'Loading' }: { lines?: number; label?: string }): VNode {
  return (
    <div class="loading" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, at) => (
        <span class="skeleton" key={at} />
      ))}
    </div>
  );
}

/** Says that there is nothing, and what would change that. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="muted">{children}</div>}
    </div>
  );
}

/** Says what failed, and offers to ask again where that may help. */
export function FailureNote({ failure, again }: { failure: Failure; again?: (() => void) | undefined }): VNode {
  return (
    <div class="note note-bad" role="alert">
      <Icon name="warning" />
      <div>
        <p>{sentenceOf(failure)}</p>
        {failure.problems.length > 0 && (
          <ul>
            {failure.problems.map(({ field, message }) => (
              <li key={`${field} ${message}`}>
                <code>{field}</code> {message}
              </li>
            ))}
          </ul>
        )}
        <p class="muted small">
          Code <code>{failure.code}</code>
        </p>
      </div>
      {again !== undefined && mayPass(failure) && (
        <button type="button" class="button small" onClick={again}>
          Ask again
        </button>
      )}
    </div>
  );
}

interface ShownProps<Value> {
  asked: Asked<Value>;
  lines?: number;
  children: (value: Value) => ComponentChildren;
}

/** Shows an answer, room for it while it is awaited, or why there is none; an older answer stays beside the reason. */
export function Shown<Value>({ asked, lines = 3, children }: ShownProps<Value>): VNode {
  const { value, failure, again } = asked;
  return (
    <div aria-busy={asked.asks} class={asked.isOld ? 'old' : ''}>
      {failure !== null && <FailureNote failure={failure} again={again} />}
      {value === null ? failure === null && <Loading lines={lines} /> : children(value)}
    </div>
  );
}

import type { FunctionComponent, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading } from '../../ui/states.tsx';
import type { DefinitionFormProps } from './dialog_parts.ts';

/** The form, whose code is fetched when the first one is opened: it brings the API's shapes and the tag's panels. */
export function LoadedForm(props: DefinitionFormProps): VNode {
  const [Form, setForm] = useState<FunctionComponent<DefinitionFormProps> | null>(null);
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    import('./definition_form.tsx').then(
      ({ DefinitionForm }) => setForm(() => DefinitionForm),
      () => setAway(true),
    );
  }, []);
  if (isAway) return <p class="muted">The form could not be loaded. Advanced has the same in JSON.</p>;
  return Form === null ? <Loading lines={8} label="Loading the form" /> : <Form {...props} />;
}

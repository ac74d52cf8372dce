import type { VNode } from 'preact';
import { Section } from './common_fields.tsx';
import { TextAt } from './path_fields.tsx';
import { Questions } from './question_fields.tsx';

/** What a survey says, from its heading to its last words. @param onLook Told which question is worked on. */
export function SurveyFields({ onLook }: { onLook(index: number): void }): VNode {
  return (
    <>
      <TextAt at={['title']} label="Heading (optional)" />
      <Questions onLook={onLook} />
      <Section title="What is said at the end">
        <TextAt at={['thanks', 'title']} label="Heading at the end (optional)" placeholder="Thank you" />
        <TextAt at={['thanks', 'text']} label="Text at the end (optional)" lines={2} />
      </Section>
    </>
  );
}

import type { VNode } from 'preact';
import { Section } from './common_fields.tsx';
import { ProblemAt, TextAt } from './path_fields.tsx';

/** What a promo says and where it leads. */
export function PromoFields(): VNode {
  return (
    <>
      <TextAt at={['title']} label="Heading" />
      <TextAt at={['body']} label="Text (optional)" lines={3} />
      <div class="form-row">
        <TextAt at={['button', 'text']} label="What the button says (optional)" placeholder="See it" />
        <TextAt at={['button', 'url']} label="Where it leads (optional)" placeholder="/sale" />
      </div>
      <ProblemAt at={['button']} />
      <div class="form-row">
        <TextAt
          at={['image_url']}
          label="Address of a picture (optional)"
          placeholder="https://shop.example/sale.webp"
        />
        <TextAt at={['image_alt']} label="What the picture shows" hint="Read out to those who do not see it." />
      </div>
      <TextAt at={['code']} label="Code to copy (optional)" placeholder="WINTER20" />
      <Section title="What its events say of it">
        <div class="form-row">
          <TextAt at={['creative']} label="Creative (optional)" hint="Which text or picture it was, for reports." />
          <TextAt at={['slot']} label="Slot (optional)" hint="Where on the page it stood, for reports." />
        </div>
      </Section>
    </>
  );
}

// Run by parent.test.ts: prints its pid and ends when its parent is gone.
import { onParentGone } from '#infra/local/parent.ts';

onParentGone(() => process.exit(0), 50);
setTimeout(() => undefined, 60_000);
console.log(process.pid);

// Run by parent.test.ts: prints its pid and ends when its parent is gone.
import { onParentGone } from '#services/local/parts/processes.ts';

onParentGone(() => process.exit(0), 50);
// oxlint-disable-next-line no-restricted-globals -- where its parent does not end, it ends by itself
setTimeout(() => process.exit(1), 60_000);
console.log(process.pid);

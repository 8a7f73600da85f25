import { grown, streamed } from './pieces.js';
import type { Asked, Told } from './protocol.js';
import { Reader } from './reader.js';

interface Scope {
  postMessage(told: Told): void;
  onmessage: ((event: MessageEvent<Asked>) => void) | null;
}

const scope = globalThis as unknown as Scope;

const reader = new Reader({
  tell: (told) => scope.postMessage(told),
  open: ({ path, goesOn, grows }, ended) => (grows ? grown(path, goesOn, ended) : streamed(path, goesOn)),
  later: (work, ms) => {
    setTimeout(work, ms);
  },
  now: () => performance.now(),
});

scope.onmessage = ({ data }) => reader.asked(data);

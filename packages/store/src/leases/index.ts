export { type Acquisition, fence, type Lease, Leases, type LeasesDeps, markEpoch } from './leases.js';
export { forgetLease, type Held, LeaseWatch, lastHolder } from './looking.js';
export { decideLease, type LeaseAnswer, type LeaseRequest, type LeaseRow } from './machine.js';

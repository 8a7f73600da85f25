export { type Acquisition, fence, type Lease, Leases, type LeasesDeps } from './leases.js';
export { forgetLease, type Held, LeaseWatch } from './looking.js';
export { decideLease, type LeaseAnswer, type LeaseRequest, type LeaseRow } from './machine.js';

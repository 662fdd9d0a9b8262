-- The first schema. Ids are text in plain byte order, instants are milliseconds, payloads are
-- encoded JSON exactly as the kernel gave it. Large columns stand last, so that reading a scalar
-- never walks through them.

-- One row: who this ledger is, its clock's anchor, and how far it has come.
CREATE TABLE ledger (
    only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    ledger_id TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    boot_id TEXT,
    boot_ms INTEGER,
    wall_ms INTEGER,
    last_ms INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    last_batch TEXT NOT NULL
) STRICT;

-- One execution with its pointer to the active attempt.
CREATE TABLE execution (
    execution_no INTEGER NOT NULL PRIMARY KEY,
    execution_id TEXT NOT NULL UNIQUE,
    submitted_ms INTEGER,
    conclusion TEXT,
    active_attempt_id TEXT,
    attempt_count INTEGER NOT NULL,
    attempts_max INTEGER NOT NULL,
    attempt_timeout_ms INTEGER,
    submitted_by TEXT,
    concluded_ms INTEGER,
    converged_ms INTEGER,
    next_attempt_ms INTEGER,
    cancellation TEXT,
    submission TEXT
) STRICT;

-- Submitted executions, newest first.
CREATE INDEX execution_submitted ON execution (submitted_ms DESC, execution_id)
    WHERE submitted_ms IS NOT NULL;

-- The same, only those without a conclusion: small, however long the history.
CREATE INDEX execution_unconcluded ON execution (submitted_ms DESC, execution_id)
    WHERE submitted_ms IS NOT NULL AND conclusion IS NULL;

-- One attempt with its operation and its result. owed_since_ms is when its open part was opened,
-- the operation until it settles, then the reclamation until it closes; null when nothing is owed.
CREATE TABLE attempt (
    attempt_no INTEGER NOT NULL PRIMARY KEY,
    execution_attempt_id TEXT NOT NULL UNIQUE,
    execution_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    owed_since_ms INTEGER,
    claimable INTEGER NOT NULL,
    mark TEXT,
    status TEXT NOT NULL,
    provider_id TEXT,
    allocation_lifetime TEXT,
    provisioner_incarnation_id TEXT,
    deadline_ms INTEGER,
    settlement_kind TEXT,
    settled_ms INTEGER,
    claim_expires_ms INTEGER,
    generation INTEGER,
    obligation TEXT,
    owner_id TEXT,
    token TEXT,
    lease_expires_ms INTEGER,
    failure_count INTEGER,
    doubt_streak INTEGER,
    opened_ms INTEGER,
    next_look_ms INTEGER,
    last_failure TEXT,
    allocation_ref TEXT,
    result TEXT
) STRICT;

-- What is owed, oldest first. Holds open work only, so that listing it never walks through history.
CREATE INDEX attempt_owed ON attempt (owed_since_ms, execution_attempt_id)
    WHERE owed_since_ms IS NOT NULL;

-- Attempts whose workers may bootstrap, by execution.
CREATE INDEX attempt_claimable ON attempt (execution_id, created_ms, execution_attempt_id)
    WHERE claimable = 1;

-- What was owed after a settlement, open or closed. Apart from its attempt, so that renewing its
-- lease never rewrites a result.
CREATE TABLE reclamation (
    attempt_no INTEGER NOT NULL PRIMARY KEY,
    generation INTEGER NOT NULL,
    owner_id TEXT,
    token TEXT,
    lease_expires_ms INTEGER,
    failure_count INTEGER NOT NULL,
    doubt_streak INTEGER NOT NULL,
    opened_ms INTEGER NOT NULL,
    next_look_ms INTEGER NOT NULL,
    closure TEXT,
    closed_ms INTEGER,
    last_failure TEXT,
    allocation_refs TEXT NOT NULL
) STRICT;

-- One entry for each transition. Sequences are given out by ledger.last_sequence and never reused.
CREATE TABLE journal (
    sequence INTEGER NOT NULL PRIMARY KEY,
    execution_no INTEGER,
    at_ms INTEGER NOT NULL,
    event TEXT NOT NULL,
    execution_id TEXT NOT NULL,
    execution_attempt_id TEXT,
    actor TEXT NOT NULL,
    generation INTEGER,
    fold_key TEXT,
    count INTEGER NOT NULL,
    last_at_ms INTEGER NOT NULL,
    evidence TEXT,
    detail TEXT
) STRICT;

-- The entries of one execution, and among them those of an attempt. By number: executions are
-- numbered as they come, so a batch's entries lie together in the index, where ids would scatter
-- them over as many pages, each of which a commit writes whole.
CREATE INDEX journal_execution ON journal (execution_no);

-- At most one entry for each fold key.
CREATE UNIQUE INDEX journal_fold ON journal (fold_key) WHERE fold_key IS NOT NULL;

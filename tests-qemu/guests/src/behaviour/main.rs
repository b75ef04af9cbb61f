//! The behaviour guests: one program, of which every module is a case with an entry of its own.
//!
//! A case has the name of its file. It declares its clause with `guests::clause!` and its entry with
//! `guests::case!`. The harness makes a guest of one case by giving the program the entry and the
//! clause of that case (`tools/src/building/case.rs`); nothing else differs between two cases, and only one runs
//! after a load. A new case needs its file and a line here.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicUsize, Ordering};

mod b_access_register_mode;
mod b_addressing_mode;
mod b_alert_full;
mod b_alert_incorrect_entry;
mod b_alert_invalid_entry;
mod b_alert_masked;
mod b_alert_priority;
mod b_alert_remains;
mod b_authorization;
mod b_beyond_storage;
mod b_channel_monitor;
mod b_channel_subsystem;
mod b_clear_reset;
mod b_clock;
mod b_clock_comparator;
mod b_clock_set;
mod b_combined_sampling;
mod b_comparator_unsigned;
mod b_control;
mod b_counter_states;
mod b_counting;
mod b_cpu_address;
mod b_cpu_reset;
mod b_cpu_timer;
mod b_cpu_timer_negative;
mod b_crypto_blocked;
mod b_crypto_counted;
mod b_crypto_cycles;
mod b_crypto_functions;
mod b_dat;
mod b_dat_alias;
mod b_diagnose_308;
mod b_diagnose_700;
mod b_diagnostic_sampling;
mod b_ecctr;
mod b_enclosed;
mod b_end_failure;
mod b_enhanced_monitor;
mod b_epsw;
mod b_epsw_condition_code;
mod b_execute;
mod b_execute_distrusted;
mod b_execute_modified;
mod b_exit_code;
mod b_extended_counters;
mod b_external_conditions;
mod b_external_means;
mod b_external_order;
mod b_extraction_authority;
mod b_group_counters;
mod b_group_counters_none;
mod b_group_functions;
mod b_group_threads;
mod b_input_output;
mod b_input_output_status;
mod b_instruction_length;
mod b_interrupt_key;
mod b_interrupt_key_first;
mod b_interruption_action;
mod b_key_protection;
mod b_keys;
mod b_lcctl;
mod b_level_vm;
mod b_limited_sample;
mod b_load_anew;
mod b_load_real_address;
mod b_losses;
mod b_low_address_protection;
mod b_lpp;
mod b_lpp_level_below;
mod b_lpp_no_operation;
mod b_lpsw;
mod b_lpswe_invalid;
mod b_lsctl;
mod b_machine_check;
mod b_machine_check_timer;
mod b_many_spaces;
mod b_measurement_executed;
mod b_measurement_keys;
mod b_measurement_on_each_cpu;
mod b_measurement_operands;
mod b_models;
mod b_monitor_call;
mod b_move_page;
mod b_msa_access;
mod b_msa_modifier;
mod b_multithreading;
mod b_own_page;
mod b_page_end;
mod b_per_branch;
mod b_per_controls;
mod b_per_disabling;
mod b_per_executed;
mod b_per_fetch;
mod b_per_fetch_dat;
mod b_per_identification;
mod b_per_interruptible;
mod b_per_lost;
mod b_per_off;
mod b_per_registers;
mod b_per_s370;
mod b_per_stopped;
mod b_per_store;
mod b_per_store_dat;
mod b_per_undisturbed;
mod b_prefix;
mod b_prefix_purges;
mod b_prefixing;
mod b_privileged;
mod b_privileged_measurement;
mod b_program_codes;
mod b_program_endings;
mod b_psw_fields;
mod b_psw_mask;
mod b_qctri;
mod b_qsi;
mod b_relative_wraparound;
mod b_reset_measurement;
mod b_resets;
mod b_sacf;
mod b_samples_times_interval;
mod b_sampling;
mod b_sampling_bad_links;
mod b_sampling_bad_registers;
mod b_sampling_blocks;
mod b_sampling_changed_while_active;
mod b_sampling_in_wait;
mod b_sampling_large;
mod b_sampling_megabytes;
mod b_sampling_resume;
mod b_sampling_spaces;
mod b_sampling_states;
mod b_sampling_tables;
mod b_sampling_wait;
mod b_scctr;
mod b_secure;
mod b_secure_full;
mod b_self_modified;
mod b_self_stored;
mod b_sense_running;
mod b_service_call;
mod b_service_signal;
mod b_signals;
mod b_sigp;
mod b_sigp_busy;
mod b_sigp_start;
mod b_software_counters;
mod b_stcctm;
mod b_stfl;
mod b_stfle;
mod b_stopped;
mod b_storage_end;
mod b_storage_keys;
mod b_storage_spaces;
mod b_storage_translation;
mod b_store_status;
mod b_storm;
mod b_svc;
mod b_system_area;
mod b_system_information;
mod b_tables_beyond_storage;
mod b_threads;
mod b_tod_clock;
mod b_unperformed;
mod b_unproved;
mod b_unproved_count;
mod b_unproved_crossing;
mod b_version_numbers;
mod b_virtual_machine;
mod b_watchdog;
mod b_watchdog_of_two;
mod b_wraparound;

/// The function of the case whose entry was taken. It stands in .data, because .bss is cleared later.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data.case")]
static CHOSEN_CASE: AtomicUsize = AtomicUsize::new(0);

guests::guest!(run);

fn run() {
    let chosen = CHOSEN_CASE.load(Ordering::Relaxed);
    assert!(chosen != 0, "no case is chosen: start one by its own entry");
    // SAFETY: only the entries that `guests::case!` makes write it, each the address of such a function.
    let case: fn() = unsafe { core::mem::transmute(chosen) };
    case();
}

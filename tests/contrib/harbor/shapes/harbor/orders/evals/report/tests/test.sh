#!/bin/bash
mkdir -p /logs/verifier
if grep -qx 3 /app/report.txt; then echo 1 > /logs/verifier/reward.txt; else echo 0.25 > /logs/verifier/reward.txt; fi
